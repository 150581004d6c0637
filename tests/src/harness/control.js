// Beside the edge, for tests and benches alone: calls of the scheduler's object, or of a tenant's, without the Worker in front,
// many in one request, and the loss of their memory.
import unsafe from "workerd:unsafe";

export default {
  async fetch(request, env) {
    const { evict = null, tenant = null, loseAnswers = null, calls = [] } = await request.json();
    if (evict !== null) await unsafe.evictAllDurableObjects(evict);
    const [namespace, name] = tenant === null ? [env.SCHEDULER, "scheduler"] : [env.TENANT, tenant];
    const object = namespace.get(namespace.idFromName(name));
    if (loseAnswers !== null) {
      await object.fetch("https://scheduler/lose-answers", { method: "POST", body: String(loseAnswers) });
    }
    const replies = [];
    for (const call of calls) {
      const answer = await object.fetch("https://object/call", { method: "POST", body: JSON.stringify(call) });
      if (!answer.ok) return answer;
      replies.push(await answer.json());
    }
    return Response.json(replies);
  },
};
