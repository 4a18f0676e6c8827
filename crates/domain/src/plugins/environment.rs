//! Which variables of the house's environment a plugin is given.

/// What programs need to find others, a place for their files, and the language of their messages. Nothing here is a secret.
const EVERYBODY: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM"];

/// Whether a plugin is given a variable: what every program needs, and what its declaration names. Everything else stays in
/// the house: keys of model providers, the house's own settings, and what nobody thought of.
pub fn is_passed(variable: &str, named: &[String]) -> bool {
    EVERYBODY.contains(&variable) || variable.starts_with("LC_") || named.iter().any(|name| name == variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_in_the_house_unless_the_file_names_them() {
        let cases = [
            ("PATH", &[][..], true),
            ("HOME", &[], true),
            ("LC_ALL", &[], true),
            ("LANG", &[], true),
            ("OPENAI_API_KEY", &[], false),
            ("OPENAI_API_KEY", &["OPENAI_API_KEY"], true),
            ("OPENAI_API_KEY", &["OPENAI_API"], false),
            ("LONGHOUSE_TOKEN", &[], false),
            ("AWS_SECRET_ACCESS_KEY", &["KUBECONFIG"], false),
            ("KUBECONFIG", &["KUBECONFIG"], true),
            ("LD_PRELOAD", &[], false),
            ("PYTHONPATH", &[], false),
            ("path", &[], false),
            ("", &[], false),
        ];
        for (variable, named, expected) in cases {
            let named: Vec<String> = named.iter().map(|name: &&str| (*name).to_owned()).collect();
            assert_eq!(is_passed(variable, &named), expected, "{variable} {named:?}");
        }
    }
}
