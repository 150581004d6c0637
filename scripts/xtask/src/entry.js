// The Worker's entry point: what wrangler and workerd load. It hands each event to the Wasm module.
//
// A panic unwinds and fails one call. An abort (out of memory, stack overflow) cannot unwind: the
// bindings then start a new instance of the module at the next call, and every object that lived in
// the old one is gone. So the Durable Object classes are wrapped: a wrapper makes its object anew,
// which restores it from storage, and calls that the old instance will never answer are failed.
import { DurableObject } from "cloudflare:workers";
import * as bindings from "./bindings.js";

const unanswered = new Set();
let known;

/** The number of the running instance. The call itself replaces an instance that aborted. */
function instance() {
  const { instanceId } = bindings.__worker_init_state();
  if (instanceId !== known) {
    known = instanceId;
    for (const fail of unanswered) fail(new Error("the edge restarted during this call: try again"));
    unanswered.clear();
  }
  return instanceId;
}

/** The answer of a call into the module, or a failure when its instance ends first. */
function answered(call) {
  return new Promise((resolve, reject) => {
    unanswered.add(reject);
    Promise.resolve(call).then(resolve, reject).finally(() => unanswered.delete(reject));
  });
}

/** A Durable Object class whose objects outlive the module's instances. */
function lasting(Class) {
  return class extends DurableObject {
    #object;
    #instance;

    constructor(state, env) {
      super(state, env);
      this.#current();
    }

    #current() {
      const running = instance();
      if (this.#instance !== running) {
        this.#object = new Class(this.ctx, this.env);
        this.#instance = running;
      }
      return this.#object;
    }

    fetch(request) {
      return answered(this.#current().fetch(request));
    }

    alarm() {
      return answered(this.#current().alarm());
    }

    webSocketMessage(socket, message) {
      return answered(this.#current().webSocketMessage(socket, message));
    }

    webSocketClose(socket, code, reason, wasClean) {
      return answered(this.#current().webSocketClose(socket, code, reason, wasClean));
    }

    webSocketError(socket, error) {
      return answered(this.#current().webSocketError(socket, error));
    }
  };
}

export const Scheduler = lasting(bindings.Scheduler);
export const Project = lasting(bindings.ProjectObject);
export const Tenant = lasting(bindings.Tenant);

/** What a client is told when the module itself could not answer; the shape of every other error. */
function fault() {
  const requestId = `req_${crypto.randomUUID().replaceAll("-", "")}`;
  const problem = {
    type: "urn:minifleet:problem:internal",
    title: "Internal fault",
    status: 500,
    detail: "A fault of the service. Try again; if it happens again, report the requestId.",
    code: "internal",
    requestId,
  };
  const headers = { "Content-Type": "application/problem+json", "Cache-Control": "no-store", "X-Request-Id": requestId };
  return { requestId, response: new Response(JSON.stringify(problem), { status: problem.status, headers }) };
}

export default {
  async fetch(request, env, context) {
    try {
      instance();
      return await answered(bindings.fetch(request, env, context));
    } catch (error) {
      const { requestId, response } = fault();
      console.error(requestId, error);
      return response;
    }
  },
  scheduled(event, env, context) {
    instance();
    return answered(bindings.scheduled(event, env, context));
  },
};
