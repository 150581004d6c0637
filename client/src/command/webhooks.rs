//! `minifleet webhooks` and `minifleet admin webhooks`: the same commands, about the webhooks that the key sees.

use clap::{Args as ClapArgs, Subcommand};
use minifleet_client::webhooks::{Delivery, NewSecret, NewWebhook, Webhook, Webhooks};
use shared_protocol::TenantId;

use super::context::Context;
use super::exit::{Exit, Failure};
use super::table::{Align, Table};
use super::text;

/// What can be done with webhooks.
#[derive(Debug, Subcommand)]
pub enum WebhooksCommand {
    /// List webhooks, and how they are doing
    List,
    /// Make a webhook; the secret that it is signed with is shown once
    Create(CreateArgs),
    /// Send a webhook an event that means nothing
    Test(OneArgs),
    /// Show what was sent to a webhook and what came of it, newest first
    Log(LogArgs),
    /// Send once more what could not be delivered, the oldest first
    Replay(ReplayArgs),
    /// Sign with a new secret too, which is shown once; with --end, with the newest alone
    Rotate(RotateArgs),
    /// Send to a webhook again, also after it said that it is gone
    Enable(OneArgs),
    /// Send nothing to a webhook, and keep nothing for it
    Disable(OneArgs),
    /// Forget a webhook and all that waits for it
    Delete(OneArgs),
}

#[derive(Debug, ClapArgs)]
pub struct CreateArgs {
    /// Where events are sent to: https, and a public host
    // `--url` is the service's.
    #[arg(value_name = "URL")]
    pub receiver: String,
    /// An event that it is told, such as job.completed; may be repeated [default: all]
    #[arg(long = "event", value_name = "TYPE")]
    pub events: Vec<String>,
    /// Whose jobs it is told of [default: the key's tenant's; with an operator's key, everybody's]
    #[arg(long)]
    pub tenant: Option<TenantId>,
    /// Why; kept in the audit log
    #[arg(long, default_value = "", hide_default_value = true)]
    pub reason: String,
}

#[derive(Debug, ClapArgs)]
pub struct OneArgs {
    /// The webhook's id: wh_...
    #[arg(value_name = "ID")]
    pub id: String,
    /// Why; kept in the audit log
    #[arg(long, default_value = "", hide_default_value = true)]
    pub reason: String,
}

#[derive(Debug, ClapArgs)]
pub struct LogArgs {
    /// The webhook's id: wh_...
    #[arg(value_name = "ID")]
    pub id: String,
    /// How many attempts at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200), value_name = "N")]
    pub limit: u32,
}

#[derive(Debug, ClapArgs)]
pub struct ReplayArgs {
    #[command(flatten)]
    pub one: OneArgs,
    /// Only this dead letter
    #[arg(long, value_name = "N")]
    pub dead_letter: Option<u64>,
}

#[derive(Debug, ClapArgs)]
pub struct RotateArgs {
    #[command(flatten)]
    pub one: OneArgs,
    /// Let go of the older secret
    #[arg(long)]
    pub end: bool,
}

/// Runs one of the commands.
pub async fn run(context: &Context, webhooks: &Webhooks, command: &WebhooksCommand) -> Result<Exit, Failure> {
    match command {
        WebhooksCommand::List => {
            let list = webhooks.list().await?;
            let ids = || list.webhooks.iter().map(|one| line(&one.webhook_id)).collect();
            context.answer(&list, || render(&list.webhooks), ids)?;
        }
        WebhooksCommand::Create(args) => {
            let CreateArgs { receiver, events, tenant, reason } = args;
            let new = webhooks
                .create(&NewWebhook {
                    url: receiver.clone(),
                    tenant: tenant.as_ref().map(ToString::to_string),
                    events: (!events.is_empty()).then(|| events.clone()),
                    reason: reason.clone(),
                })
                .await?;
            show_secret(context, &new)?;
        }
        WebhooksCommand::Test(OneArgs { id, reason }) => {
            let sent = webhooks.test(id, reason).await?;
            let told = || {
                let event = text::printable(&sent.event_id);
                format!("{event} is on its way; minifleet webhooks log says what came of it.\n")
            };
            context.answer(&sent, told, || line(&sent.event_id))?;
        }
        WebhooksCommand::Log(LogArgs { id, limit }) => {
            let page = webhooks.deliveries(id, *limit, None).await?;
            let events = || page.deliveries.iter().map(|one| line(&one.event_id)).collect();
            context.answer(&page, || render_log(&page.deliveries), events)?;
        }
        WebhooksCommand::Replay(ReplayArgs { one, dead_letter }) => {
            let done = webhooks.replay(&one.id, *dead_letter, &one.reason).await?;
            let told = || format!("{} are sent again, {} are left.\n", done.replayed, done.left);
            context.answer(&done, told, || format!("{}\n", done.replayed))?;
        }
        WebhooksCommand::Rotate(RotateArgs { one, end: false }) => {
            show_secret(context, &webhooks.rotate_secret(&one.id, &one.reason).await?)?;
        }
        WebhooksCommand::Rotate(RotateArgs { one, end: true }) => {
            show(context, &webhooks.end_rotation(&one.id, &one.reason).await?)?;
        }
        WebhooksCommand::Enable(OneArgs { id, reason }) => {
            show(context, &webhooks.enable(id, true, reason).await?)?;
        }
        WebhooksCommand::Disable(OneArgs { id, reason }) => {
            show(context, &webhooks.enable(id, false, reason).await?)?;
        }
        WebhooksCommand::Delete(OneArgs { id, reason }) => {
            let gone = webhooks.delete(id, reason).await?;
            context.answer(
                &gone,
                || format!("{} is gone.\n", text::printable(&gone.webhook_id)),
                String::new,
            )?;
        }
    }
    Ok(Exit::Ok)
}

fn line(text: &str) -> String {
    format!("{}\n", text::printable(text))
}

fn show(context: &Context, webhook: &Webhook) -> Result<(), Failure> {
    context.answer(webhook, || render(std::slice::from_ref(webhook)), || line(&webhook.webhook_id))
}

/// The secret alone with `--quiet`, for a script that puts it where it belongs.
fn show_secret(context: &Context, new: &NewSecret) -> Result<(), Failure> {
    let told = || {
        let id = text::printable(&new.webhook.webhook_id);
        format!("{}\nThis signs for {id}. It is not shown again.\n", text::printable(&new.secret))
    };
    context.answer(new, told, || line(&new.secret))
}

fn render(webhooks: &[Webhook]) -> String {
    if webhooks.is_empty() {
        return "There are none: minifleet webhooks create URL.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("webhook", Align::Left),
        ("tenant", Align::Left),
        ("state", Align::Left),
        ("waiting", Align::Right),
        ("dead", Align::Right),
        ("events", Align::Left),
        ("url", Align::Left),
    ]);
    for webhook in webhooks {
        let state = match (webhook.gone_at_ms, webhook.enabled, webhook.responsive) {
            (Some(at), _, _) => format!("gone {}", text::ago(at)),
            (None, false, _) => "disabled".to_owned(),
            (None, true, true) => "answers".to_owned(),
            (None, true, false) => "not answered yet".to_owned(),
        };
        let events = webhook.events.as_ref().map_or_else(|| "all".to_owned(), |events| events.join(" "));
        table.row([
            text::printable(&webhook.webhook_id),
            webhook.tenant.as_deref().map_or_else(|| "all".to_owned(), text::printable),
            state,
            webhook.waiting.to_string(),
            webhook.dead_letters.to_string(),
            text::shorten(&text::printable(&events), 40),
            text::shorten(&text::printable(&webhook.url), 60),
        ]);
    }
    table.render()
}

fn render_log(deliveries: &[Delivery]) -> String {
    if deliveries.is_empty() {
        return "Nothing was sent yet, or no log is kept here.\n".to_owned();
    }
    let mut table = Table::new(&[
        ("when", Align::Right),
        ("event", Align::Left),
        ("job", Align::Left),
        ("generation", Align::Left),
        ("attempt", Align::Right),
        ("took", Align::Right),
        ("outcome", Align::Left),
    ]);
    for one in deliveries {
        let outcome = match (one.status, &one.failure) {
            (Some(status), _) => format!("{} {status}", one.outcome),
            (None, Some(failure)) => failure.clone(),
            (None, None) => one.outcome.clone(),
        };
        table.row([
            text::ago(one.at_ms),
            text::printable(&one.kind),
            text::printable(&one.job_id),
            text::printable(one.generation_id.as_deref().unwrap_or_default()),
            one.attempt.to_string(),
            format!("{} ms", one.duration_ms),
            text::shorten(&text::printable(&outcome), 80),
        ]);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_log_says_of_each_attempt_what_came_of_it_and_no_backend_paints_the_terminal() {
        let attempt = |outcome: &str, status: Option<u16>, failure: Option<&str>| -> Delivery {
            serde_json::from_value(
                json!({ "eventId": "msg_1", "type": "generation.completed", "jobId": "job_1",
                "generationId": "gen_1", "attempt": 2, "publishedAtMs": 1, "atMs": 1, "durationMs": 15_000,
                "outcome": outcome, "status": status, "failure": failure }),
            )
            .unwrap()
        };
        let log = render_log(&[
            attempt("acknowledged", Some(204), None),
            attempt("refused", Some(503), Some("the endpoint answered 503")),
            attempt("not_connected", None, Some("no connection to the endpoint: \u{1b}[2J")),
        ]);
        for expected in ["acknowledged 204", "refused 503", "no connection", "gen_1", "15000 ms"] {
            assert!(log.contains(expected), "{expected} is missing in\n{log}");
        }
        assert!(!log.contains('\u{1b}'), "{log}");
    }

    #[test]
    fn a_webhook_that_said_gone_is_shown_as_that() {
        let webhook: Webhook = serde_json::from_value(json!({ "webhookId": "wh_1", "tenant": null,
            "url": "https://example.com/", "events": ["job.completed"], "enabled": false, "goneAtMs": 1,
            "waiting": 3, "responsive": true, "deadLetters": 0 }))
        .unwrap();
        let list = render(&[webhook]);
        assert!(list.contains("gone ") && list.contains("job.completed") && list.contains("all"), "{list}");
    }
}
