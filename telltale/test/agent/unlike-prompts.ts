import type { LoadedAgent } from '../../src/agent/loaded-agent.ts';
import type { Runtime } from '../../src/agent/runtime-types.ts';
import { toRuntimeError } from '../../src/lib/errors.ts';
import type { EventOf } from '../../src/log/event.ts';
import type { Model, ModelRequest } from '../../src/models/model.ts';
import { requestHash } from '../../src/prompt/opening.ts';

/** The model, and the hash of each request that it gets. */
export function hashRequests(model: Model) {
  const sent = new Set<string>();
  const keeping: Model = {
    ...model,
    stream(request, sink) {
      sent.add(hashOf(request));
      return model.stream(request, sink);
    },
  };
  return { model: keeping, sent };
}

function hashOf({ system, messages, tools = [], toolChoice }: ModelRequest): string {
  return requestHash({ system, tools, options: toolChoice === undefined ? {} : { toolChoice } }, messages);
}

/** Turns of a long session that are looked at: each is folded from its log. */
const FIRST = 4;
const LAST = 8;

/** The turns whose prompt, rebuilt from the log, differs from the hash in the log, or is none of `sent`. */
export async function unlikePrompts(
  runtime: Runtime,
  session: string,
  agent: LoadedAgent<unknown>,
  sent: ReadonlySet<string> | undefined,
): Promise<readonly string[]> {
  const starts = (await runtime.events(session)).filter(
    (event): event is EventOf<'turn.started'> => event.type === 'turn.started',
  );
  const wrong: string[] = [];
  const turns = [...new Set(starts.map((start) => start.turn))];
  for (const [index, turn] of turns.entries()) {
    if (index >= FIRST && index < turns.length - LAST) continue;
    let shown: Awaited<ReturnType<Runtime['prompt']>>;
    try {
      shown = await runtime.prompt(session, turn, { agent });
    } catch (thrown) {
      if (toRuntimeError(thrown).code === 'runtime_closed') return wrong; // the test has closed it
      throw thrown;
    }
    const { match, note, hash } = shown;
    if (match !== 'same') wrong.push(`turn ${turn} ${match}: ${note}`);
    else if (sent?.has(hash.rebuilt) === false) wrong.push(`turn ${turn}: nothing with this hash was sent`);
  }
  return wrong;
}
