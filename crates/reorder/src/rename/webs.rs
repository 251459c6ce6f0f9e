//! The webs of a variable.
//!
//! A *site* is a node of the control flow with the outcomes of its condition. Each site has two
//! ends: the values that it reads from before it, and the values that it leaves. A read joins its
//! end with the ends of all sites whose definitions may reach it; a token belongs to an end. What
//! is joined is a web.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Copy, Web,
    pointers::Pointers,
    roles::{Role, Roles},
    tokens::{Use, Uses},
};
use crate::{
    api::Models,
    flow::{
        Flow,
        access::{Access, AccessKind},
        graph::{NodeIndex, NodeKind},
        place::{Place, Root},
        summary::Summaries,
    },
    ir::{Function, Program, Scope, StatementKind, Type, VariableIndex},
    source::Range,
};

/// A function with its data flow and the uses of its variables.
pub(super) struct Analysis<'s, 'a, 'p> {
    pub(super) program: &'a Program,
    pub(super) models: &'a Models,
    pub(super) summaries: &'p Summaries<'a>,
    pub(super) function: &'a Function,
    pub(super) flow: &'s Flow<'a, 'p>,
    pub(super) uses: &'s Uses,
}

/// The webs of a variable.
pub(super) struct Webs {
    /// The webs; the first one has the declaration.
    pub(super) webs: Vec<Web>,
    pub(super) copies: Vec<Copy>,
    pub(super) sizes: Vec<(Range, usize)>,
    /// A site that writes a part of an array, or may not write it, if there is one.
    pub(super) partial: Option<NodeIndex>,
}

/// The node because of which a variable has no webs, and the reason.
pub(super) type Unclear = (NodeIndex, &'static str);

/// An end of a site, by its number.
pub(super) type End = usize;

/// Returns the end with the values that a site reads from before it.
pub(super) fn before(site: NodeIndex) -> End {
    2 * site
}

/// Returns the end with the values that a site leaves.
pub(super) fn behind(site: NodeIndex) -> End {
    2 * site + 1
}

/// The joined ends of a variable's sites.
pub(super) struct Ends<'s, 'a, 'p> {
    pub(super) all: &'s Analysis<'s, 'a, 'p>,
    pub(super) variable: VariableIndex,
    parents: Vec<End>,
    /// The sites that read a value from before them, and those that write.
    pub(super) reads: BTreeSet<NodeIndex>,
    pub(super) writes: BTreeSet<NodeIndex>,
    /// The ends whose values something reads.
    read: BTreeSet<End>,
    /// The end with the declaration and the caller's value.
    base: End,
    partial: Option<NodeIndex>,
}

impl<'s, 'a, 'p> Ends<'s, 'a, 'p> {
    fn new(all: &'s Analysis<'s, 'a, 'p>, variable: VariableIndex) -> Self {
        let base = 2 * all.flow.graph.nodes.len();
        Ends {
            all,
            variable,
            parents: (0..=base).collect(),
            reads: BTreeSet::new(),
            writes: BTreeSet::new(),
            read: BTreeSet::new(),
            base,
            partial: None,
        }
    }

    /// Returns the site of a node.
    pub(super) fn site(&self, node: NodeIndex) -> NodeIndex {
        match self.all.flow.graph.nodes[node].kind {
            NodeKind::Outcome { condition, .. } => condition,
            _ => node,
        }
    }

    pub(super) fn find(&self, mut end: End) -> End {
        while self.parents[end] != end {
            end = self.parents[end];
        }
        end
    }

    pub(super) fn join(&mut self, one: End, other: End) {
        let (one, other) = (self.find(one), self.find(other));
        // The base stays its own root.
        let (root, child) = if one > other { (one, other) } else { (other, one) };
        self.parents[child] = root;
    }

    pub(super) fn join_base(&mut self, end: End) {
        self.join(end, self.base);
    }

    /// Returns the roots of the webs of which something reads a value.
    fn read_roots(&self) -> BTreeSet<End> {
        self.read.iter().map(|&end| self.find(end)).collect()
    }

    fn is_own(&self, place: &Place) -> bool {
        place.root == Root::Variable(self.variable)
    }

    /// Joins the ends of each read with those of the definitions that may reach it.
    fn join_reads(&mut self) {
        let flow = self.all.flow;
        let whole = Place::whole(Root::Variable(self.variable));
        for node in 0..flow.graph.nodes.len() {
            let site = self.site(node);
            let is_own = |access: &&Access<'_>| self.is_own(&access.place);
            let writes: Vec<&Access<'_>> = flow.effects[node]
                .accesses
                .iter()
                .filter(is_own)
                .filter(|one| one.kind != AccessKind::Read)
                .collect();
            if !writes.is_empty() {
                self.writes.insert(site);
                let is_weak = |one: &&&Access<'_>| {
                    one.kind == AccessKind::WeakWrite || !one.place.path.is_empty()
                };
                let weak = writes.iter().find(is_weak).map(|_| site);
                self.partial = self.partial.or(weak);
                let declares = matches!(flow.graph.nodes[node].kind,
                    NodeKind::Declare(one) if one.variable == self.variable);
                if node == 0 || declares {
                    self.join_base(behind(site));
                }
            }
            if self.reads_own_write(node) {
                self.read.insert(behind(site));
            }
            for place in flow.exposed_reads(node) {
                if !flow.may_share(place, &whole) {
                    continue;
                }
                let reaching = flow.reaching(node, place);
                if self.is_own(place) {
                    self.reads.insert(site);
                    self.read.insert(before(site));
                    if reaching.is_empty() {
                        self.join_base(before(site));
                    }
                }
                for one in reaching {
                    let definition = &flow.definitions.all[one];
                    let from = behind(self.site(definition.node));
                    match (self.is_own(place), self.is_own(&definition.place)) {
                        (true, true) => self.join(before(site), from),
                        (true, false) => self.join_base(before(site)),
                        (false, true) => self.join_base(from),
                        (false, false) => {}
                    }
                }
            }
        }
    }

    /// Returns true if a node reads what it has written itself.
    fn reads_own_write(&self, node: NodeIndex) -> bool {
        let accesses = &self.all.flow.effects[node].accesses;
        let mut own = accesses.iter().filter(|access| self.is_own(&access.place));
        own.any(|one| one.kind != AccessKind::Read) && own.any(|one| one.kind == AccessKind::Read)
    }

    /// Returns the end that a token of a site belongs to; `None` if the site reads and writes.
    pub(super) fn end_of(&self, site: NodeIndex) -> Option<End> {
        match (self.reads.contains(&site), self.writes.contains(&site)) {
            (true, true) => None,
            (false, true) => Some(behind(site)),
            _ => Some(before(site)),
        }
    }

    /// Returns the ends that a site has.
    pub(super) fn ends(&self, site: NodeIndex) -> Vec<End> {
        let reads = self.reads.contains(&site).then_some(before(site));
        reads.into_iter().chain(self.writes.contains(&site).then_some(behind(site))).collect()
    }
}

/// Finds the webs of a variable.
///
/// # Errors
/// The node whose use of the variable is not followed, and the reason.
pub(super) fn of(all: &Analysis<'_, '_, '_>, variable: VariableIndex) -> Result<Webs, Unclear> {
    let mut ends = Ends::new(all, variable);
    ends.join_reads();
    let none = Vec::new();
    let uses = all.uses.of.get(&variable).unwrap_or(&none);
    Pointers { ends: &mut ends, uses }.join()?;
    let mut tokens = Tokens::default();
    let sites: BTreeSet<NodeIndex> = uses.iter().map(|one| one.node).collect();
    for site in sites {
        let of_site: Vec<Range> =
            uses.iter().filter(|one| one.node == site).filter_map(|one| one.range).collect();
        match ends.end_of(site) {
            Some(end) => tokens.all.extend(of_site.into_iter().map(|range| (range, end))),
            None => tokens.of_mixed(&mut ends, site, &of_site),
        }
    }
    tokens.join_same(&mut ends);
    tokens.join_unread_base(&mut ends);
    Ok(tokens.webs(&ends, all.uses))
}

/// The tokens of a variable, each with its end.
#[derive(Default)]
struct Tokens {
    all: Vec<(Range, End)>,
    /// Statements that read and write by one token.
    copied: Vec<(Range, NodeIndex)>,
}

impl Tokens {
    /// Adds the tokens of a site that reads and writes.
    fn of_mixed(&mut self, ends: &mut Ends<'_, '_, '_>, site: NodeIndex, tokens: &[Range]) {
        let all = ends.all;
        let (one, other) = (before(site), behind(site));
        let expression = all.flow.expression_of(site);
        let (models, summaries, variable) = (all.models, all.summaries, ends.variable);
        let mut roles = Roles { models, summaries, variable, found: Vec::new() };
        expression.into_iter().for_each(|expression| roles.visit(expression));
        let is_complete = roles.found.len() == tokens.len()
            && roles.found.iter().all(|(range, _)| range.is_some());
        let both = roles.found.iter().any(|(_, role)| *role == Role::Both);
        let place = copy_place(all, ends.variable, site).filter(|_| both);
        if !is_complete || reads_last(all, ends.variable, site) || both && place.is_none() {
            ends.join(one, other);
        }
        self.copied.extend(place.map(|place| (place, site)));
        let found = roles.found.iter().filter_map(|(range, role)| Some(((*range)?, *role)));
        match is_complete {
            true => self.all.extend(
                found.map(|(range, role)| (range, if role == Role::Reads { one } else { other })),
            ),
            false => self.all.extend(tokens.iter().map(|&range| (range, one))),
        }
    }

    /// Joins the ends of a token that a macro uses several times.
    fn join_same(&self, ends: &mut Ends<'_, '_, '_>) {
        let mut of: BTreeMap<Range, End> = BTreeMap::new();
        for &(range, end) in &self.all {
            let first = *of.entry(range).or_insert(end);
            ends.join(first, end);
        }
    }

    /// Joins the web of the declaration, if nothing reads it, with the first one that is read.
    fn join_unread_base(&self, ends: &mut Ends<'_, '_, '_>) {
        let read = ends.read_roots();
        let base = ends.find(ends.base);
        let mut sorted = self.all.clone();
        sorted.sort();
        let first = sorted.iter().map(|&(_, end)| ends.find(end)).find(|root| read.contains(root));
        if let Some(first) = first.filter(|_| !read.contains(&base)) {
            ends.join_base(first);
        }
    }

    fn webs(&self, ends: &Ends<'_, '_, '_>, uses: &Uses) -> Webs {
        let mut sorted = self.all.clone();
        sorted.sort();
        sorted.dedup_by_key(|(range, _)| *range);
        let base = ends.find(ends.base);
        let mut roots = Vec::new();
        if sorted.iter().any(|&(_, end)| ends.find(end) == base) {
            roots.push(base);
        }
        let read = ends.read_roots();
        let new = |root: End| Web { tokens: Vec::new(), is_read: read.contains(&root) };
        let mut webs: Vec<Web> = roots.iter().map(|&root| new(root)).collect();
        for &(range, end) in &sorted {
            let root = ends.find(end);
            let at = roots.iter().position(|&one| one == root).unwrap_or_else(|| {
                roots.push(root);
                webs.push(new(root));
                roots.len() - 1
            });
            webs[at].tokens.push(range);
        }
        let web = |end: End| roots.iter().position(|&one| one == ends.find(end));
        let copy = |&(statement, site): &(Range, NodeIndex)| {
            let (from, to) = (web(before(site))?, web(behind(site))?);
            (from != to).then_some(Copy { before: statement, from, to })
        };
        let size = |one: &Use| {
            let end = match ends.writes.contains(&one.node) {
                true => behind(one.node),
                false => before(one.node),
            };
            let is_used = ends.writes.contains(&one.node) || ends.reads.contains(&one.node);
            Some((one.range?, web(end).filter(|_| is_used).unwrap_or(0)))
        };
        let copies = self.copied.iter().filter_map(copy).collect();
        let sizes = uses.sizes.iter().filter_map(size).collect();
        Webs { webs, copies, sizes, partial: ends.partial }
    }
}

/// Returns true if a site reads the variable behind a write of its own.
fn reads_last(all: &Analysis<'_, '_, '_>, variable: VariableIndex, site: NodeIndex) -> bool {
    let root = Root::Variable(variable);
    let accesses = all.flow.effects[site].accesses.iter();
    let mut own = accesses.filter(|one| one.place.root == root);
    own.any(|one| one.kind != AccessKind::Read) && own.any(|one| one.kind == AccessKind::Read)
}

/// Returns the statement of a site before which the value of a number can be copied: one that
/// stands in a list and only evaluates an expression.
fn copy_place(
    all: &Analysis<'_, '_, '_>,
    variable: VariableIndex,
    site: NodeIndex,
) -> Option<Range> {
    let Type::Scalar(_) = all.program.variable(variable).ty else { return None };
    let range = all.flow.graph.nodes[site].range;
    let mut found = false;
    all.function.body.walk(&mut |outer| {
        if let StatementKind::Block(list) = &outer.kind {
            found |= list
                .iter()
                .any(|one| one.range == range && matches!(one.kind, StatementKind::Evaluate(_)));
        }
    });
    let alone = all.flow.graph.nodes.iter().filter(|node| node.range == range).count() == 1;
    (found && alone).then_some(range)
}

/// Returns true if a variable is one whose values may get names of their own: a number, or an array
/// of numbers or of pointers with a constant length.
pub(super) fn is_renameable(ty: &Type, scope: Scope) -> bool {
    let is_number = |ty: &Type| matches!(ty, Type::Scalar(name) if !name.contains("_Atomic"));
    match ty {
        Type::Array { of, length: Some(_) } if scope == Scope::Local => {
            is_number(of)
                || matches!(**of, Type::Pointer { .. })
                || matches!(**of, Type::Array { .. }) && is_renameable(of, scope)
        }
        _ => is_number(ty),
    }
}
