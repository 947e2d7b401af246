//! Clients: they submit jobs and batches, repeat calls without an answer, cancel, wait and read balances.

use crate::life::Process;
use crate::model::{CallOutcome, Request, amount};
use crate::world::World;
use crate::{keys, operator};
use std::time::Duration;
use tintype_actors::account::{AccountCommand, InFlightGuard, Overloaded};
use tintype_storage::domain::audit_log::Action;
use tintype_storage::domain::batch_member::InputUrls;
use tintype_storage::domain::caller::PresentedKey;
use tintype_storage::domain::ids::{AccountId, JobId};
use tintype_storage::domain::job::{
    Callback, Job, JobEvent, JobState, Origin, PromptRef, PromptText,
};
use tintype_storage::domain::request::Fingerprint;
use tintype_storage::domain::tier::Tier;
use tintype_storage::engine::Wait as _;
use tintype_storage::store::{AcceptError, IdempotencyUse, NewBatch, NewBatchJob, NewJob, Part};
use tintype_storage::testing::samples;
use tokio::sync::oneshot;

const PRICES: [i64; 4] = [39_000, 67_000, 134_000, 240_000];
/// In milliseconds; the longest is past the retention of jobs.
const CANCEL_AFTER: [i64; 4] = [1_000, 60_000, 3_600_000, 172_800_000];
const NAMES: [&str; 6] = ["k1", "k2", "k3", "k4", "k5", "k6"];

/// Creates a random request.
pub fn request(process: &Process) -> Option<usize> {
    let rng = &process.world.rng;
    let (account, key) = rng.pick(&process.plan.keys)?;
    let mut model = process.world.model.lock();
    let hooks = model.hooks_of(account).to_vec();
    let named = rng.one_in(3).then(|| rng.pick(&hooks)).flatten();
    let size = rng.one_in(5).then(|| 1 + rng.below(4) as u32);
    let request = Request {
        account,
        key,
        price: rng.pick(&PRICES)? * i64::from(size.unwrap_or(1)),
        size,
        tier: rng.pick(&Tier::ALL)?,
        synchronous: size.is_none() && rng.one_in(6),
        callback: named.map(|hook| (hook.id, hook.url)),
        name: rng
            .one_in(2)
            .then(|| rng.pick(&NAMES).unwrap_or("k1").to_owned()),
        stored: rng.one_in(6),
        cancel_after: rng
            .pick(&CANCEL_AFTER)
            .filter(|_| size.is_none() && rng.one_in(4)),
        issues: 0,
        sent: false,
        made: Vec::new(),
    };
    model.requests.push(request);
    Some(model.requests.len() - 1)
}

fn prompt(number: usize, request: &Request) -> PromptRef {
    match request.stored {
        true => PromptRef::Stored(format!("words/{number}")),
        false => samples::prompt(format!("request {number}")),
    }
}

fn callback(request: &Request) -> Option<Callback> {
    let (webhook, url) = request.callback.clone()?;
    Some(Callback { webhook, url })
}

fn idempotency(number: usize, request: &Request) -> Option<IdempotencyUse> {
    let mut fingerprint = [0; 32];
    fingerprint[..8].copy_from_slice(&(number as u64).to_be_bytes());
    request.name.clone().map(|name| IdempotencyUse {
        name,
        fingerprint: Fingerprint(fingerprint),
    })
}

/// Every second image of the batch has an input image.
fn new_batch(number: usize, request: &Request, size: u32, shown: PresentedKey) -> NewBatch {
    let one = |index: u32| NewBatchJob {
        tier: request.tier,
        prompt: prompt(number, request),
        input_urls: InputUrls::Inline(match index % 2 {
            0 => Vec::new(),
            _ => vec!["https://images.example/1.png".into()],
        }),
        ..samples::batch_request(amount(request.unit()))
    };
    NewBatch {
        key: request.key,
        shown: Some(shown),
        account_rate_limit: None,
        requests: (0..size).map(one).collect(),
        price: amount(request.price),
        text: PromptRef::Inline(PromptText {
            prompt: String::new(),
            metadata: Some(number.to_string()),
        }),
        callback: callback(request),
        idempotency: idempotency(number, request),
        file: None,
    }
}

fn new_job(number: usize, request: &Request, shown: PresentedKey) -> NewJob {
    NewJob {
        shown: Some(shown),
        tier: request.tier,
        prompt: prompt(number, request),
        callback: callback(request),
        origin: match request.synchronous {
            true => Origin::Synchronous,
            false => Origin::Native,
        },
        idempotency: idempotency(number, request),
        cancel_after: request
            .cancel_after
            .map(|it| Duration::from_millis(it.unsigned_abs())),
        ..samples::new_job(request.key, amount(request.price))
    }
}

/// Sends a request, and checks the answer against the model.
pub async fn send(process: Process, number: usize) {
    let world = &process.world;
    let request = world.model.lock().requests[number].clone();
    let Some((limits, shown)) = keys::authenticate(&process, request.key) else {
        return world.trace(format!(
            "request {number} is rejected: its key is not valid"
        ));
    };
    let call = world
        .model
        .lock()
        .issue(number, limits, &shown.hash.0, world.now());
    world.trace(format!("request {number} is sent"));
    let handle = match process
        .system
        .accounts()
        .get_or_start(request.account)
        .await
    {
        Ok(Some(handle)) => handle,
        other => {
            let other = other.map(|it| it.is_some());
            return world.fault(format!(
                "the account of request {number} is not found: {other:?}"
            ));
        }
    };
    let outcome = match request.size {
        None => {
            let job = new_job(number, &request, shown);
            submit(|reply| handle.accept(job, None, reply)).await
        }
        Some(size) => {
            let batch = new_batch(number, &request, size, shown);
            submit(|reply| handle.accept_batch(batch, None, reply)).await
        }
    };
    let Some(outcome) = outcome else {
        // Allowed only if the process stops, or after a storage failure.
        let mut model = world.model.lock();
        if !model.storage_failed && !model.stopping {
            model.fault(format!("request {number} was dropped without an answer"));
        }
        return model.unanswered(call);
    };
    let checked = check_answer(world, call, &outcome);
    world.trace(format!("request {number} is {checked}"));
    let Ok(accepted) = outcome else { return };
    if request.synchronous {
        wait(&process, request.account, JobId(accepted.id)).await;
    }
}

type Outcome<T> = Result<T, AcceptError>;

/// Sends a command and waits for its outcome; `None` if no answer comes.
async fn submit<T: Into<CallOutcome>>(
    send: impl FnOnce(oneshot::Sender<Outcome<T>>) -> Result<InFlightGuard, Overloaded>,
) -> Option<Outcome<CallOutcome>> {
    let (reply, answer) = oneshot::channel();
    let _in_flight = send(reply).ok()?;
    Some(answer.await.ok()?.map(T::into))
}

/// Checks an answer against the model. Returns a description of the answer and its faults.
fn check_answer(world: &World, call: u64, outcome: &Result<CallOutcome, AcceptError>) -> String {
    let mut model = world.model.lock();
    let faults = model.faults.len();
    model.answered(call, outcome, world.now());
    let answer = match outcome {
        Ok(it) if it.replayed => format!("answered with a replay {}", model.name_of(it.id)),
        Ok(it) => format!("accepted as a request {}", model.name_of(it.id)),
        Err(error) => format!("refused: {error}"),
    };
    let new = model.faults[faults..].iter();
    let new: Vec<String> = new.map(|fault| format!("; FAULT {fault}")).collect();
    answer + &new.concat()
}

/// Waits for the end of a job, as callers of the synchronous interface do.
async fn wait(process: &Process, account: AccountId, job: JobId) {
    match process.system.ended(account, job).await {
        Ok(Some(ended)) if ended.state.is_terminal() => {
            let status = process
                .world
                .model
                .lock()
                .jobs
                .get(&job)
                .map(|it| it.status);
            if status.is_none_or(|it| !it.is_terminal()) {
                process
                    .world
                    .fault(format!("job {job} is reported as ended, but has not ended"));
            }
        }
        // A clock that is set back revives a key that had expired, and its job may be deleted.
        Ok(None) if process.world.model.lock().is_forgotten(job.0) => {}
        other => process
            .world
            .fault(format!("the end of job {job} is reported as {other:?}")),
    }
}

/// Picks an earlier request.
pub fn repeat(process: &Process) -> Option<usize> {
    let requests = process.world.model.lock().requests.len();
    (requests > 0).then(|| process.world.rng.below(requests as u64) as usize)
}

/// Cancels a random live job, queued or running.
pub async fn cancel(process: Process) {
    let world = &process.world;
    let live: Vec<(JobId, AccountId)> = {
        let model = world.model.lock();
        let live = model.jobs.iter().filter(|(_, it)| !it.status.is_terminal());
        live.map(|(id, it)| (*id, it.account)).collect()
    };
    let Some((job, account)) = world.rng.pick(&live) else {
        return;
    };
    world.model.lock().cancel_asked(job);
    let Ok(Some(handle)) = process.system.accounts().get_or_start(account).await else {
        return;
    };
    let (reply, answer) = oneshot::channel();
    let command = AccountCommand::Apply {
        job,
        event: JobEvent::Cancel,
        to_entry: Some(operator::to_entry(
            &process,
            Action::JobCancel,
            |it: &Job| it.id.0,
        )),
        reply: reply.into(),
    };
    let _ = handle.send(command);
    let Ok(outcome) = answer.await else { return };
    let canceled = outcome.is_ok();
    world.model.lock().cancel_answered(job, canceled);
    world.trace(format!(
        "cancel {}: {canceled}",
        world.model.lock().name_of(job.0)
    ));
}

/// Cancels a batch as the application does: the batch, then its queued jobs. Sometimes the caller disappears in between.
pub async fn cancel_batch(process: Process) {
    let world = &process.world;
    let open = world.model.lock().open_batches();
    let Some((batch, account)) = world.rng.pick(&open) else {
        return;
    };
    let Ok(Some(handle)) = process.system.accounts().get_or_start(account).await else {
        return;
    };
    world.model.lock().cancel_batch_asked(batch);
    let (reply, answer) = oneshot::channel();
    let command = AccountCommand::CancelBatch {
        batch,
        to_entry: None,
        reply: reply.into(),
    };
    if handle.send(command).is_err() {
        return;
    }
    let Ok(Ok(progress)) = answer.await else {
        return;
    };
    world.model.lock().cancel_batch_answered(batch);
    let name = world.model.lock().name_of(batch.0);
    world.trace(format!("cancel {name}: {progress:?}"));
    if world.rng.one_in(2) {
        return;
    }
    let Ok(Some((batch, _))) = process.store.batch(account, batch).wait() else {
        return;
    };
    let Ok(jobs) = process
        .store
        .jobs_of_batch(&batch, Part::All, None, 100)
        .wait()
    else {
        return;
    };
    for job in jobs.iter().filter(|it| it.state == JobState::Queued) {
        let (reply, answer) = oneshot::channel();
        let command = AccountCommand::Apply {
            job: job.id,
            event: JobEvent::Cancel,
            to_entry: None,
            reply: reply.into(),
        };
        let _ = handle.send(command);
        let _ = answer.await;
    }
}

/// Reads a balance, which must be the durable one.
pub fn read_balance(process: &Process) {
    let world = &process.world;
    let Some((account, _)) = world.rng.pick(&process.plan.keys) else {
        return;
    };
    let balances = process
        .store
        .account(account)
        .wait()
        .ok()
        .flatten()
        .map(|it| it.balances);
    let expected = world.model.lock().available(account);
    if balances.map(|it| it.available()) != Some(amount(expected)) {
        world.fault(format!(
            "account {account} shows {balances:?}, available is {expected}"
        ));
    }
}
