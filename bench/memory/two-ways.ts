import type { LoadedAgent } from '../../telltale/src/agent/loaded-agent.ts';
import type { Runtime } from '../../telltale/src/index.ts';
import type { Json } from '../../telltale/src/lib/json.ts';
import type { Tokenizer } from '../../telltale/src/lib/tokens.ts';
import type { Model, ModelMessage } from '../../telltale/src/models/model.ts';

export interface Asking {
  readonly runtime: Runtime;
  readonly agent: LoadedAgent;
  readonly tokenizer: Tokenizer;
}

/** Files that are read in one turn: so many results are shown without making each other shorter. */
const READS_A_TURN = 8;

const question = (name: string) => `Where is ${name} defined, and who calls it?`;
const action = (id: string, type: 'tool' | 'internal', name: string, parameters: Json) =>
  `<action id="${id}" type="${type}" mode="sync">${JSON.stringify({ name, parameters })}</action>\n`;

/** One call of `query_knowledge_graph`. */
export async function askGraph(
  asking: Asking,
  name: string,
): Promise<{ readonly tokens: number; readonly answer: string }> {
  const { grown, outputs } = await converse(asking, question(name), async (turn) =>
    turn === 1 ? action('ask', 'internal', 'query_knowledge_graph', { symbol: name }) : undefined,
  );
  return { tokens: sum(asking, grown), answer: String(outputs.get('ask')) };
}

/** One grep for the name as a word, then every file that grep named, whole. */
export async function askByFiles(
  asking: Asking,
  name: string,
): Promise<{ readonly tokens: number; readonly grepTokens: number; readonly read: number }> {
  let paths: readonly string[] = [];
  const { grown } = await converse(asking, question(name), async (turn, outputOf) => {
    if (turn === 1)
      return action('grep', 'tool', 'filesystem', {
        operation: 'grep',
        path: 'src',
        pattern: `\\b${name}\\b`,
        limit: 1000,
      });
    if (turn === 2) paths = matchedIn(await outputOf('grep'));
    const first = (turn - 2) * READS_A_TURN;
    const reads = paths
      .slice(first, first + READS_A_TURN)
      .map((path, index) =>
        action(`read_${first + index}`, 'tool', 'filesystem', { operation: 'read', path }),
      );
    return reads.length === 0 ? undefined : reads.join('');
  });
  // What the model said to call grep, and what came of it.
  return { tokens: sum(asking, grown), grepTokens: sum(asking, grown.slice(0, 2)), read: paths.length };
}

const sum = ({ tokenizer }: Asking, messages: readonly ModelMessage[]) =>
  messages.reduce((tokens, { text }) => tokens + tokenizer.count(text), 0);

function matchedIn(output: Json): readonly string[] {
  const { matches } = output as unknown as { readonly matches: readonly { readonly path: string }[] };
  return [...new Set(matches.map(({ path }) => path))];
}

/**
 * A real session whose model says what `say` gives, and answers where that is nothing. `grown`: what the conversation
 * grew by behind the question, up to the answer; `outputs`: what actions gave, by their ids.
 */
async function converse(
  { runtime, agent }: Asking,
  input: string,
  say: (turn: number, outputOf: (id: string) => Promise<Json>) => Promise<string | undefined>,
): Promise<{ readonly grown: readonly ModelMessage[]; readonly outputs: ReadonlyMap<string, Json> }> {
  const outputs = new Map<string, Json>();
  const waiting = new Map<string, (output: Json) => void>();
  /** Events are told once they are on disk, which may be after the next request. */
  const outputOf = (id: string) =>
    new Promise<Json>((resolve) => {
      const known = outputs.get(id);
      if (known === undefined) waiting.set(id, resolve);
      else resolve(known);
    });
  let grown: readonly ModelMessage[] = [];
  const model: Model = {
    id: 'fake',
    async stream({ turn, messages }, sink) {
      grown = messages.slice(1);
      sink.text((await say(turn, outputOf)) ?? '<response>I know.</response>');
      return { finish: 'stop', usage: { input: 10, output: 10 } };
    },
  };
  const session = runtime.start(agent, { input, model });
  session.subscribe((event) => {
    if (event.type !== 'action.completed') return;
    const { id, output = null } = event;
    outputs.set(id, output);
    waiting.get(id)?.(output);
  });
  const { status, error } = await session.result;
  if (status !== 'completed') throw new Error(`${input} The session ended as ${status}: ${error?.message}`);
  const failed = (await runtime.events(session.id)).find(({ type }) => type === 'action.failed');
  if (failed !== undefined) throw new Error(`${input} ${JSON.stringify(failed)}`);
  return { grown, outputs };
}
