//! Compiles the original and the rewritten program with the mock.
//!
//! A test program is one source file: the program under test, included, and the generated main
//! function behind it. So the main function sees its types and its static functions.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex, PoisonError},
};

use super::{Options, VerifyError, interface::CORE, lines};
use crate::ir::Language;

/// The sanitizers that find what the mock cannot see: reads of freed memory, overruns.
const SANITIZERS: &[&str] =
    &["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer"];

/// Without it, an output with bytes that the program never writes differs from run to run.
const FILL: &[&str] = &["-ftrivial-auto-var-init=pattern"];

/// The parts that the compilations of one comparison share.
pub(crate) struct Builder<'a> {
    options: &'a Options<'a>,
    directory: &'a Path,
    language: Language,
    /// The directory of the original, for the headers that it includes by a relative path.
    origin: PathBuf,
    includes: Vec<String>,
    sanitizers: &'static [&'static str],
    /// The flag that gives local variables the same bytes in both programs, if the compiler has it.
    fill: &'static [&'static str],
    /// True if the compiled mock is in the directory.
    has_mock: bool,
}

/// The object files of a compiled mock, with their names.
type Objects = Vec<(String, Vec<u8>)>;

/// The mocks that comparisons of this process have compiled, by the command.
static MOCKS: Mutex<BTreeMap<String, Arc<Objects>>> = Mutex::new(BTreeMap::new());

/// A compiler that runs.
struct Job {
    what: String,
    compiler: String,
    child: Child,
}

impl<'a> Builder<'a> {
    /// Finds the interface's header and tries the sanitizers.
    pub(crate) fn new(
        options: &'a Options<'a>,
        directory: &'a Path,
        language: Language,
        original: &Path,
    ) -> Result<Builder<'a>, VerifyError> {
        let parent = original.parent().filter(|parent| !parent.as_os_str().is_empty());
        let origin = absolute(parent.unwrap_or(Path::new(".")))?;
        let includes = include_flags(options)?;
        let mut builder = Builder {
            options,
            directory,
            language,
            origin,
            includes,
            sanitizers: &[],
            fill: &[],
            has_mock: false,
        };
        if options.sanitize && builder.accepts(SANITIZERS)? {
            builder.sanitizers = SANITIZERS;
        }
        if builder.accepts(FILL)? {
            builder.fill = FILL;
        }
        Ok(builder)
    }

    /// Returns true if the programs run with sanitizers.
    pub(crate) fn sanitizes(&self) -> bool {
        !self.sanitizers.is_empty()
    }

    /// Builds both programs and returns their paths. If there are `texts`, they are compiled in
    /// place of the files.
    pub(crate) fn build(
        &mut self,
        sources: [&Path; 2],
        main: &str,
        texts: Option<[String; 2]>,
    ) -> Result<[PathBuf; 2], VerifyError> {
        let names = ["original", "rewritten"];
        self.write_headers()?;
        let compiled = match texts {
            Some([original, rewritten]) => [
                self.write_copy(names[0], sources[0], &original)?,
                self.write_copy(names[1], sources[0], &rewritten)?,
            ],
            None => sources.map(Path::to_owned),
        };
        let mut jobs = Vec::new();
        for (index, name) in names.into_iter().enumerate() {
            jobs.push(self.start_program(&compiled[index], sources[index], name, main)?);
        }
        for (index, source) in self.options.sources.iter().enumerate() {
            jobs.push(self.start_other(source, index)?);
        }
        if !self.has_mock {
            self.add_mock()?;
            self.has_mock = true;
        }
        jobs.into_iter().try_for_each(finish)?;
        let links: Result<Vec<Job>, _> =
            names.into_iter().map(|name| self.start_link(name)).collect();
        links?.into_iter().try_for_each(finish)?;
        Ok(names.map(|name| self.directory.join(name)))
    }

    /// Writes a text that is compiled as if it were the file `original`.
    fn write_copy(&self, name: &str, original: &Path, text: &str) -> Result<PathBuf, VerifyError> {
        let file = original.file_name().map_or("source".into(), |file| file.to_string_lossy());
        let path = self.directory.join(format!("{name}_{file}"));
        let linkage = if self.language == Language::Cpp { "extern \"C\" " } else { "" };
        let shown = original.display().to_string().replace('\\', "\\\\").replace('"', "\\\"");
        let first = lines::FIRST;
        let text =
            format!("{linkage}void mockdb_site(unsigned);\n#line {first} \"{shown}\"\n{text}");
        write(&path, &text)?;
        Ok(path)
    }

    /// Puts the compiled mock into the directory. It is compiled once in each process.
    fn add_mock(&self) -> Result<(), VerifyError> {
        let options = self.sanitizers.join(" ") + &self.includes.join(" ");
        let key = format!("{} {} {options}", c_compiler(), self.options.interface.name);
        let mut mocks = MOCKS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(objects) = mocks.get(&key).cloned() {
            drop(mocks);
            let mut objects = objects.iter();
            return objects.try_for_each(|(name, bytes)| write(&self.directory.join(name), bytes));
        }
        finish(self.start_mock()?)?;
        let read = |name: String| {
            let path = self.directory.join(&name);
            let bytes = fs::read(&path).map_err(|error| VerifyError::File { path, error })?;
            Ok((name, bytes))
        };
        let objects: Objects = self.objects().map(read).collect::<Result<_, VerifyError>>()?;
        mocks.insert(key, Arc::new(objects));
        Ok(())
    }

    /// Returns the names of the mock's object files.
    fn objects(&self) -> impl Iterator<Item = String> {
        let files = CORE.iter().chain(self.options.interface.files);
        files.filter_map(|(name, _)| Some(format!("{}.o", name.strip_suffix(".c")?)))
    }

    /// Writes the headers of the mock.
    fn write_headers(&self) -> Result<(), VerifyError> {
        let files = CORE.iter().chain(self.options.interface.files);
        let mut headers = files.filter(|(name, _)| name.ends_with(".h"));
        headers.try_for_each(|(name, text)| write(&self.directory.join(name), text))
    }

    /// Compiles the mock and its recording core.
    fn start_mock(&self) -> Result<Job, VerifyError> {
        let mut command = Command::new(c_compiler());
        command.current_dir(self.directory).args(["-std=c99", "-g", "-w", "-c"]);
        command.args(self.sanitizers).args(&self.includes);
        let files = CORE.iter().chain(self.options.interface.files);
        for (name, text) in files.filter(|(name, _)| name.ends_with(".c")) {
            write(&self.directory.join(name), text)?;
            command.arg(name);
        }
        start("the mock".to_owned(), command)
    }

    /// Compiles a source, which may be a copy of the file `of`.
    fn start_program(
        &self,
        source: &Path,
        of: &Path,
        name: &str,
        main: &str,
    ) -> Result<Job, VerifyError> {
        let extension = if self.language == Language::Cpp { "cpp" } else { "c" };
        let path = self.directory.join(format!("{name}.{extension}"));
        let text = format!(
            "#define main mockdb_program_main\n#include \"{}\"\n#undef main\n{main}",
            absolute(source)?.display()
        );
        write(&path, &text)?;
        let mut command = Command::new(self.compiler(&path));
        if let Some(parent) = absolute(of)?.parent() {
            command.arg("-iquote").arg(parent);
        }
        self.add_flags(&mut command);
        command.arg("-I").arg(self.directory).arg("-c").arg(&path);
        command.arg("-o").arg(self.directory.join(format!("{name}.o")));
        start(format!("the {name} program, {},", of.display()), command)
    }

    fn start_other(&self, source: &Path, index: usize) -> Result<Job, VerifyError> {
        let mut command = Command::new(self.compiler(source));
        self.add_flags(&mut command);
        command.arg("-c").arg(source);
        command.arg("-o").arg(self.directory.join(format!("other{index}.o")));
        start(source.display().to_string(), command)
    }

    /// Adds the user's flags and the sanitizers.
    fn add_flags(&self, command: &mut Command) {
        let libraries = self.options.interface.libraries;
        command
            // Both programs have the same __DATE__ and __TIME__.
            .env("SOURCE_DATE_EPOCH", "1000000000")
            .arg("-g")
            .args(self.options.flags.iter().filter(|flag| !libraries.contains(&flag.as_str())));
        command.args(self.sanitizers).args(self.fill).arg("-w").arg("-iquote").arg(&self.origin);
        command.args(&self.includes);
    }

    fn start_link(&self, name: &str) -> Result<Job, VerifyError> {
        let mut command = Command::new(match self.language {
            Language::C => c_compiler(),
            Language::Cpp => cpp_compiler(),
        });
        command.args(self.sanitizers).arg(self.directory.join(format!("{name}.o")));
        for index in 0..self.options.sources.len() {
            command.arg(self.directory.join(format!("other{index}.o")));
        }
        command.args(self.objects().map(|name| self.directory.join(name)));
        let libraries = self.options.interface.libraries;
        let links = |flag: &&String| {
            (flag.starts_with("-l") || flag.starts_with("-L"))
                && !libraries.contains(&flag.as_str())
        };
        command.args(self.options.flags.iter().filter(links)).arg("-lm");
        command.arg("-o").arg(self.directory.join(name));
        start(format!("the {name} program"), command)
    }

    /// Returns true if the compiler builds a program with some flags.
    fn accepts(&self, flags: &[&str]) -> Result<bool, VerifyError> {
        let path = self.directory.join("probe.c");
        write(&path, "int main(void) { return 0; }\n")?;
        let mut command = Command::new(c_compiler());
        command.args(flags).arg(&path).arg("-o").arg(self.directory.join("probe"));
        let job = start(flags.join(" "), command)?;
        Ok(finish(job).is_ok())
    }

    fn compiler(&self, source: &Path) -> String {
        let extension = source.extension().and_then(|extension| extension.to_str());
        if extension == Some("c") { c_compiler() } else { cpp_compiler() }
    }
}

fn write(path: &Path, text: impl AsRef<[u8]>) -> Result<(), VerifyError> {
    fs::write(path, text).map_err(|error| VerifyError::File { path: path.to_owned(), error })
}

fn c_compiler() -> String {
    env::var("CC").unwrap_or_else(|_| "gcc".to_owned())
}

fn cpp_compiler() -> String {
    env::var("CXX").unwrap_or_else(|_| "g++".to_owned())
}

fn absolute(path: &Path) -> Result<PathBuf, VerifyError> {
    fs::canonicalize(path).map_err(|error| VerifyError::File { path: path.to_owned(), error })
}

/// Finds the directory of the interface's header: named by the user's flags, by the interface's own
/// tool, or a usual one.
fn include_flags(options: &Options) -> Result<Vec<String>, VerifyError> {
    let interface = options.interface;
    let mut flags = options.flags.iter().peekable();
    let mut named = Vec::new();
    while let Some(flag) = flags.next() {
        match flag.strip_prefix("-I").or_else(|| flag.strip_prefix("-isystem")) {
            Some("") => named.extend(flags.peek().map(|next| next.to_string())),
            Some(directory) => named.push(directory.to_owned()),
            None => {}
        }
    }
    let (tool, arguments) = interface.locator;
    let output = Command::new(tool).args(arguments).stderr(Stdio::null()).output().ok();
    named.extend(output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()));
    named.extend(interface.directories.iter().map(|&directory| directory.to_owned()));
    let found = named.into_iter().find(|one| Path::new(one).join(interface.header).is_file());
    let missing = VerifyError::Header { header: interface.header, install: interface.install };
    let directory = absolute(Path::new(&found.ok_or(missing)?))?;
    // The compiler searches these by itself; C++ needs its own order of them.
    if [Path::new("/usr/include"), Path::new("/usr/local/include")].contains(&&*directory) {
        return Ok(Vec::new());
    }
    Ok(vec!["-isystem".to_owned(), directory.display().to_string()])
}

fn start(what: String, mut command: Command) -> Result<Job, VerifyError> {
    let compiler = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    match command.spawn() {
        Ok(child) => Ok(Job { what, compiler, child }),
        Err(error) => Err(VerifyError::Start { program: compiler, error }),
    }
}

fn finish(job: Job) -> Result<(), VerifyError> {
    let waited = job.child.wait_with_output();
    let Output { status, stderr, .. } =
        waited.map_err(|error| VerifyError::Start { program: job.compiler, error })?;
    if status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&stderr);
    let message: Vec<&str> = message.lines().take(20).collect();
    Err(VerifyError::Compile { what: job.what, message: message.join("\n") })
}
