//! `minifleet admin tenants` and `minifleet admin tenant`.

use minifleet_client::admin::{SettingsChange, Tenant, TenantPage};
use serde_json::Value;

use super::Surroundings;
use super::args::{TenantArgs, TenantUsageArgs, TenantsArgs};
use crate::command::exit::{Exit, Failure};
use crate::command::table::{Align, Table};
use crate::command::{text, usage};

/// Tenants asked for at a time.
const PAGE: u32 = 100;

pub async fn list(at: &Surroundings, args: &TenantsArgs) -> Result<Exit, Failure> {
    let mut all = TenantPage { tenants: Vec::new(), next_cursor: None };
    loop {
        let missing = args.limit.saturating_sub(all.tenants.len() as u32);
        let page = at.admin.tenants(missing.clamp(1, PAGE), all.next_cursor.as_deref()).await?;
        let more = page.next_cursor.is_some() && page.next_cursor != all.next_cursor;
        all.tenants.extend(page.tenants);
        all.next_cursor = page.next_cursor;
        if !more || all.tenants.len() as u32 >= args.limit {
            break;
        }
    }
    let names = || all.tenants.iter().map(|one| format!("{}\n", text::printable(&one.tenant))).collect();
    at.context.answer(&all, || render(&all), names)?;
    Ok(Exit::Ok)
}

fn render(page: &TenantPage) -> String {
    if page.tenants.is_empty() {
        return "No tenant has been set up yet: minifleet admin keys create TENANT.\n".to_owned();
    }
    let mut table = Table::new(&[("tenant", Align::Left), ("since", Align::Right)]);
    for one in &page.tenants {
        table.row([text::printable(&one.tenant), text::ago(one.since_ms)]);
    }
    table.render()
}

/// Shows a tenant's limits, after changing what was asked for.
pub async fn tenant(at: &Surroundings, args: &TenantArgs) -> Result<Exit, Failure> {
    let change = change(args);
    let name = args.tenant.as_str();
    let tenant = if change.is_empty() {
        at.admin.tenant(name).await?
    } else {
        at.admin.change_tenant(name, &change, &args.reason).await?
    };
    at.context.answer(&tenant, || render_one(&tenant), String::new)?;
    Ok(Exit::Ok)
}

fn change(args: &TenantArgs) -> SettingsChange {
    let mut change = SettingsChange::default();
    for (name, value) in [
        ("maxUploadBytes", args.max_upload_bytes),
        ("monthlyAudioSeconds", args.monthly_audio_seconds),
        ("requestsPerMinute", args.requests_per_minute),
        ("maxLiveJobs", args.max_live_jobs),
    ] {
        if let Some(value) = value {
            change = change.set(name, value.0);
        }
    }
    match args.media_types.as_slice() {
        [] => change,
        [all] if all == "default" => change.set("mediaTypes", Value::Null),
        types => change.set("mediaTypes", types.to_vec()),
    }
}

fn render_one(tenant: &Tenant) -> String {
    let settings = &tenant.settings;
    let unlimited = |limit: Option<u64>| limit.map_or("unlimited".to_owned(), |limit| limit.to_string());
    let types = settings.media_types.as_ref().map_or("any".to_owned(), |types| types.join(", "));
    let mut table = Table::new(&[("", Align::Left), ("", Align::Left)]);
    for (what, value) in [
        ("tenant", text::printable(&tenant.tenant)),
        ("largest upload", text::bytes(settings.max_upload_bytes)),
        ("media types", text::printable(&types)),
        ("seconds of audio a month", unlimited(settings.monthly_audio_seconds)),
        ("requests a minute and key", settings.requests_per_minute.to_string()),
        ("jobs at a time", unlimited(settings.max_live_jobs.map(u64::from))),
        ("used", format!("{:.0} s in {}", tenant.used_seconds, text::printable(&tenant.month))),
    ] {
        table.row([what.to_owned(), value]);
    }
    table.render()
}

pub async fn usage(at: &Surroundings, args: &TenantUsageArgs) -> Result<Exit, Failure> {
    let tenant = args.tenant.as_str();
    let usage = usage::collect(args.usage.limit, async |limit, cursor| {
        at.admin.tenant_usage(tenant, args.usage.month.as_deref(), limit, cursor.as_deref()).await
    })
    .await?;
    usage::answer(&at.context, &usage)
}
