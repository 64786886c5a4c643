import { type Argument, ASKED, type Read, type Task } from './catalog.ts';
import { World } from './world.ts';

/** Does the task's calls again, by the graph, in a world with the same facts: that is the right answer. */
export async function whatIsWrong(task: Task, answer: string, done: World): Promise<string | undefined> {
  const world = new World(done.seed, 1_000);
  const results = new Map<string, unknown>();
  const read: Read = (id, path = '') => at(results.get(id), path);
  const value = (argument: Argument): string => {
    if (typeof argument === 'string') return argument;
    if (argument.kind === 'thought') return argument.say(read);
    if (argument.kind === 'reference') return String(read(argument.call, argument.path));
    return argument.parts
      .map((part) => (typeof part === 'string' ? part : String(read(part.call, part.path))))
      .join('');
  };
  const graph = async (part: Task): Promise<string> => {
    for (const call of part.calls) {
      const values = Object.fromEntries(
        Object.entries(call.arguments).map(([key, each]) => [key, value(each)]),
      );
      results.set(
        call.id,
        call.tool === 'researcher' ? await ask(values['input'] ?? '') : await world.call(call.tool, values),
      );
    }
    return value(part.answer);
  };
  const ask = (question: string) => graph(ASKED.find((each) => each.question === question) as Task);
  const expected = await graph(task);
  if (sorted(done) !== sorted(world)) return `The calls were not the right ones: ${sorted(done)}`;
  // Runs of tests have a number of their own in each session: their ids are compared as what they are.
  const withoutRuns = (text: string) => text.replaceAll(/run-\w+/g, 'run').trim();
  if (withoutRuns(answer) !== withoutRuns(expected)) return `The answer is wrong: ${answer.slice(0, 300)}`;
  return undefined;
}

const sorted = (world: World): string =>
  world.calls
    .map((call) => JSON.stringify(call))
    .sort()
    .join('\n');

const at = (value: unknown, path: string): unknown =>
  path === ''
    ? value
    : path
        .split('.')
        .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);
