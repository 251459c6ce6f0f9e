//! The address of a database: `scheme://user:password@host:port/database?key=value&…`.

/// The parts of an address, decoded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Address {
    /// The scheme with `://`.
    scheme: String,
    /// The user and a `@`, as written, without the password.
    user_as_written: String,
    /// The host, the port and the database, as written.
    place_as_written: String,
    /// The keys with their values, as written, without the password.
    options_as_written: Vec<String>,
    user: Option<String>,
    pub(super) password: Option<String>,
    host: Option<String>,
    port: Option<String>,
    pub(super) database: Option<String>,
    socket: Option<String>,
}

impl Address {
    /// Reads an address. The error says what is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Address, String> {
        let (scheme, rest) = text.split_once("://").ok_or("the address has no `://`")?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (account, place) = match rest.split_once('/').unwrap_or((rest, "")).0.rsplit_once('@') {
            Some((account, _)) => (Some(account), &rest[account.len() + 1..]),
            None => (None, rest),
        };
        let (host, database) = place.split_once('/').unwrap_or((place, ""));
        let mut address = Address {
            scheme: format!("{scheme}://"),
            place_as_written: place.to_owned(),
            database: some(decode(database)?),
            ..Address::default()
        };
        if let Some(account) = account {
            let (user, password) = account.split_once(':').unwrap_or((account, ""));
            address.user_as_written = format!("{user}@");
            (address.user, address.password) = (some(decode(user)?), some(decode(password)?));
        }
        let bracketed = host.rfind(']').unwrap_or(0);
        let (name, port) = match host.rfind(':').filter(|&at| at > bracketed) {
            Some(at) => (&host[..at], &host[at + 1..]),
            None => (host, ""),
        };
        (address.host, address.port) = (some(decode(name)?), some(decode(port)?));
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            match key {
                "password" => address.password = some(decode(value)?),
                "socket" => address.socket = some(decode(value)?),
                _ => {}
            }
            if key != "password" {
                address.options_as_written.push(option.to_owned());
            }
        }
        Ok(address)
    }

    /// Returns the address without the password.
    pub(super) fn without_password(&self) -> String {
        let options = self.options_as_written.join("&");
        let mark = if options.is_empty() { "" } else { "?" };
        let Address { scheme, user_as_written, place_as_written, .. } = self;
        format!("{scheme}{user_as_written}{place_as_written}{mark}{options}")
    }

    /// Returns the options of the programs of MySQL and MariaDB for the connection.
    pub(super) fn options_of_mysql(&self) -> Vec<String> {
        let options = [
            ("host", &self.host),
            ("port", &self.port),
            ("user", &self.user),
            ("socket", &self.socket),
        ];
        let given = options.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        given.map(|(name, value)| format!("--{name}={value}")).collect()
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Replaces each `%` with two digits by the byte that they mean.
fn decode(text: &str) -> Result<String, String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, behind @ ..] = rest {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or_else(|| format!("`{text}` has a `%` without two digits behind it"))?);
        rest = &behind[2..];
    }
    String::from_utf8(bytes).map_err(|_| format!("`{text}` is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_an_address_are_decoded() {
        let address = Address::parse("mysql://us%65r:p%40ss@db.example:3307/sh%6fp?socket=/tmp/s");
        let address = address.unwrap();
        assert_eq!(address.password.as_deref(), Some("p@ss"));
        assert_eq!(address.database.as_deref(), Some("shop"));
        assert_eq!(
            address.options_of_mysql(),
            ["--host=db.example", "--port=3307", "--user=user", "--socket=/tmp/s"]
        );
    }

    #[test]
    fn password_is_left_out() {
        let without = |text| Address::parse(text).unwrap().without_password();
        assert_eq!(
            without("postgresql://u:p@h:1/d?sslmode=off"),
            "postgresql://u@h:1/d?sslmode=off"
        );
        assert_eq!(without("postgresql:///d?host=/tmp&password=p"), "postgresql:///d?host=/tmp");
        assert_eq!(without("postgres://[::1]:5/d"), "postgres://[::1]:5/d");
        assert_eq!(without("postgresql://"), "postgresql://");
    }

    #[test]
    fn wrong_addresses_are_refused() {
        assert!(Address::parse("mysql:/x").is_err());
        assert!(Address::parse("mysql://u%4@h/d").unwrap_err().contains("two digits"));
        assert!(Address::parse("mysql://h/%ff").unwrap_err().contains("UTF-8"));
    }
}
