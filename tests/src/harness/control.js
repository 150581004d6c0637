// Beside the edge, for tests and benches alone: calls of the scheduler's object without the Worker in front, many in one
// request, and the loss of its memory.
import unsafe from "workerd:unsafe";

export default {
  async fetch(request, env) {
    const { evict = null, calls = [] } = await request.json();
    if (evict !== null) await unsafe.evictAllDurableObjects(evict);
    const scheduler = env.SCHEDULER.get(env.SCHEDULER.idFromName("scheduler"));
    const replies = [];
    for (const call of calls) {
      const answer = await scheduler.fetch("https://scheduler/call", { method: "POST", body: JSON.stringify(call) });
      if (!answer.ok) return answer;
      replies.push(await answer.json());
    }
    return Response.json(replies);
  },
};
