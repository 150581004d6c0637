//! `minifleet admin keys`.

use minifleet_client::admin::{NewKey, NewSecret, TenantKey};

use super::Surroundings;
use super::args::{CreateKeyArgs, KeyArgs, KeysCommand, RotateKeyArgs};
use crate::command::exit::{Exit, Failure};
use crate::command::table::{Align, Table};
use crate::command::text;

pub async fn run(at: &Surroundings, command: &KeysCommand) -> Result<Exit, Failure> {
    match command {
        KeysCommand::Create(args) => create(at, args).await,
        KeysCommand::List(args) => {
            let list = at.admin.keys(args.tenant.as_str()).await?;
            let ids = || list.keys.iter().map(|key| format!("{}\n", text::printable(&key.key_id))).collect();
            at.context.answer(&list, || render(&list.keys), ids)?;
            Ok(Exit::Ok)
        }
        KeysCommand::Rotate(args) => rotate(at, args).await,
        KeysCommand::Revoke(args) => revoke(at, args).await,
    }
}

async fn create(at: &Surroundings, args: &CreateKeyArgs) -> Result<Exit, Failure> {
    let key = NewKey {
        label: args.label.clone(),
        read_only: args.read_only,
        expires_at_ms: args.days.map(|days| text::minutes_from_now(days * 24 * 60)),
        reason: args.reason.clone(),
    };
    show_secret(at, &at.admin.create_key(args.tenant.as_str(), &key).await?)
}

async fn rotate(at: &Surroundings, args: &RotateKeyArgs) -> Result<Exit, Failure> {
    let grace = args.grace_hours.map(|hours| hours * 3600);
    let KeyArgs { tenant, key_id, reason } = &args.key;
    show_secret(at, &at.admin.rotate_key(tenant.as_str(), key_id, grace, reason).await?)
}

async fn revoke(at: &Surroundings, args: &KeyArgs) -> Result<Exit, Failure> {
    let KeyArgs { tenant, key_id, reason } = args;
    let key = at.admin.revoke_key(tenant.as_str(), key_id, reason).await?;
    let told =
        || format!("{} opens nothing any more, everywhere within 10 s.\n", text::printable(&key.key_id));
    at.context.answer(&key, told, String::new)?;
    Ok(Exit::Ok)
}

/// The secret alone with `--quiet`, for a script that puts it where it belongs.
fn show_secret(at: &Surroundings, new: &NewSecret) -> Result<Exit, Failure> {
    let told = || {
        let older = new.key.older_secret_until_ms.map_or(String::new(), |until| {
            format!("The older secret is valid for another {}.\n", text::from_now(until))
        });
        let id = text::printable(&new.key.key_id);
        format!("{}\n{older}This is {id}. Its secret is not shown again.\n", text::printable(&new.secret))
    };
    at.context.answer(new, told, || format!("{}\n", text::printable(&new.secret)))?;
    Ok(Exit::Ok)
}

fn render(keys: &[TenantKey]) -> String {
    if keys.is_empty() {
        return "It has no keys: minifleet admin keys create TENANT.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("key", Align::Left),
        ("label", Align::Left),
        ("may", Align::Left),
        ("state", Align::Left),
        ("made", Align::Right),
    ]);
    for key in keys {
        let state = match (key.revoked_at_ms, key.expires_at_ms, key.older_secret_until_ms) {
            (Some(at), _, _) => format!("revoked {}", text::ago(at)),
            (None, Some(at), _) if !key.valid => format!("expired {}", text::ago(at)),
            (None, _, Some(until)) => format!("valid, older secret for {}", text::from_now(until)),
            (None, Some(at), None) => format!("valid for {}", text::from_now(at)),
            (None, None, None) => "valid".to_owned(),
        };
        table.row([
            text::printable(&key.key_id),
            text::shorten(&text::printable(&key.label), 40),
            text::printable(&key.role),
            state,
            text::ago(key.created_at_ms),
        ]);
    }
    table.render()
}
