// In front of the edge's own module, for tests alone: a scheduler that takes jobs and whose answers to that get lost.
import * as edge from "./index.js";

export * from "./index.js";
export default edge.default;

let losesAnswers = false;

export class Scheduler extends edge.Scheduler {
  async fetch(request) {
    if (new URL(request.url).pathname === "/lose-answers") {
      losesAnswers = (await request.text()) === "true";
      return new Response();
    }
    if (losesAnswers && (await request.clone().text()).includes('"call":"submit"')) {
      await super.fetch(request);
      throw new Error("the answer is lost");
    }
    return super.fetch(request);
  }
}
