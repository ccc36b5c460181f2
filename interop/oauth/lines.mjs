// How the programs of this folder are told things and tell them: one JSON object per line, in on stdin, out on stdout.
// They end with their stdin, so that none outlives the test that started it.

import { createServer } from "node:http";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** Prints one line for whoever started the program. */
export const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

/** Merges each line of stdin into the settings and says so; the end of stdin is the end of the program. */
export function takeOrders(settings) {
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    Object.assign(settings, JSON.parse(line));
    tell({ set: JSON.parse(line) });
  });
  lines.on("close", () => process.exit(0));
}

/** Listens on a port of 127.0.0.1, any by default, and returns the server and its origin. */
export async function listen(port = 0) {
  // Room for tokens that no server would give out.
  const server = createServer({ maxHeaderSize: 1 << 18 }).listen(port, "127.0.0.1");
  await once(server, "listening");
  return { server, origin: `http://127.0.0.1:${server.address().port}` };
}

/**
 * Tells of every request before it is answered, `{at, method, url, headers, body, status, answer}`: who has an answer can
 * count on the line. One that is given up before has no status.
 */
export function witness(server, at) {
  server.prependListener("request", (request, response) => {
    const { method, url, headers } = request;
    const [body, answer] = [[], []];
    // What is pushed is what others read: nothing is taken from them.
    const { push } = request;
    request.push = (chunk, ...rest) => {
      if (chunk) body.push(chunk);
      return push.call(request, chunk, ...rest);
    };
    const note = (chunk) => answer.push(...(typeof chunk === "string" || chunk instanceof Uint8Array ? [Buffer.from(chunk)] : []));
    const { write, end } = response;
    response.write = (chunk, ...rest) => {
      note(chunk);
      return write.call(response, chunk, ...rest);
    };
    let told = false;
    const tellOnce = (status) => {
      if (!told) tell({ at, method, url, headers, body: text(body), status, answer: text(answer).slice(0, 2000) });
      told = true;
    };
    response.end = (chunk, ...rest) => {
      note(chunk);
      tellOnce(response.statusCode);
      return end.call(response, chunk, ...rest);
    };
    response.on("close", () => tellOnce(null));
  });
}

const text = (chunks) => Buffer.concat(chunks).toString();
