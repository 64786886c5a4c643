import { type Argument, ASKED, type Call, type Read, type Reference, type Task } from './catalog.ts';
import { type Conversation, nativeId, type OfferedTool, valueAt } from './wire.ts';
import { writeActions } from './write-actions.ts';

/** What the simulated model says in one turn: text, then native calls. */
export interface Speech {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: string }[];
}

/** How a system lets its model speak. */
export type Manner = 'native' | 'tags' | 'tools';

/**
 * The model of every system. It knows the task's graph and sees nothing but the request: it makes every call whose
 * arguments it can write down now, all of them at once, and answers as soon as it can. In `tags` and `tools` it may
 * also make a call whose arguments are results that are still to come, since these two have references for them; in
 * `tags` it writes calls that differ in one text as one `<foreach>`. There is no other difference, and no way around a
 * thought: what a model has to read first it has to be shown.
 */
export function speak(seen: Conversation, manner: Manner): Speech {
  const task = taskOf(seen.opening);
  const conversation = withNames(seen, task);
  const canChain = manner !== 'native';
  const made = new Set(conversation.made);
  const isThere = (id: string) => conversation.results.has(id);
  const read: Read = (id, path = '') => valueAt(conversation.results.get(id) ?? '', path);
  const next: Call[] = [];
  const isReachable = (id: string) =>
    isThere(id) || (canChain && (made.has(id) || next.some((call) => call.id === id)));
  for (let count = -1; count !== next.length; ) {
    count = next.length;
    for (const call of task.calls)
      if (!made.has(call.id) && !next.includes(call) && canMake(call, isThere, isReachable)) next.push(call);
  }
  const isLast = task.calls.every(({ id }) => made.has(id) || next.some((call) => call.id === id));
  const canAnswer = isLast && canSay(task.answer, isThere, isReachable) && (canChain || next.length === 0);
  if (canAnswer) {
    const allSeen = task.calls.every(({ id }) => isThere(id));
    return say(next, renderText(task.answer, read, isThere), conversation, read, isThere, manner, !allSeen);
  }
  return say(next, undefined, conversation, read, isThere, manner, false);
}

/**
 * A model knows which call is which: those without an id are told apart by their tool and by the arguments that stand in
 * the task as they are.
 */
function withNames(conversation: Conversation, task: Task): Conversation {
  if (conversation.unnamed.length === 0) return conversation;
  const made = new Set(conversation.made);
  const results = new Map(conversation.results);
  for (const { id, tool, input } of conversation.unnamed) {
    const call = task.calls.find(
      (each) =>
        each.tool === tool &&
        !made.has(each.id) &&
        Object.entries(each.arguments).every(
          ([name, argument]) => typeof argument !== 'string' || input[name] === argument,
        ),
    );
    if (call === undefined) throw new Error(`Nothing in the task "${task.id}" is the call ${id} of ${tool}.`);
    made.add(call.id);
    const result = conversation.results.get(id);
    results.delete(id);
    if (result !== undefined) results.set(call.id, result);
  }
  return { ...conversation, made, results };
}

export function taskOf(opening: string): Task {
  const task = ASKED.find(({ question }) => opening.includes(question));
  if (task === undefined) throw new Error(`No task asks this: ${opening.slice(0, 300)}`);
  return task;
}

type Test = (id: string) => boolean;

const canMake = (call: Call, isThere: Test, isReachable: Test): boolean =>
  (call.after ?? []).every(isReachable) &&
  Object.values(call.arguments).every((argument) => canSay(argument, isThere, isReachable));

function canSay(argument: Argument, isThere: Test, isReachable: Test): boolean {
  if (typeof argument === 'string') return true;
  if (argument.kind === 'thought') return argument.of.every(isThere);
  return referencesIn(argument).every(({ call }) => isReachable(call));
}

const referencesIn = (argument: Exclude<Argument, string>): readonly Reference[] =>
  argument.kind === 'reference'
    ? [argument]
    : argument.kind === 'template'
      ? argument.parts.filter((part) => typeof part !== 'string')
      : [];

/** An argument, with the values that are there, and references to those that are not. */
function write(argument: Argument, read: Read, isThere: Test): string {
  if (typeof argument === 'string') return argument;
  if (argument.kind === 'thought') return argument.say(read);
  if (argument.kind === 'reference')
    return isThere(argument.call) ? String(read(argument.call, argument.path)) : `$${nameOf(argument)}`;
  return argument.parts
    .map((part) =>
      typeof part === 'string'
        ? part
        : isThere(part.call)
          ? String(read(part.call, part.path))
          : `{{${nameOf(part)}}}`,
    )
    .join('');
}

/** In a response a reference is `$name`. */
function renderText(answer: Task['answer'], read: Read, isThere: Test): string {
  if (answer.kind === 'thought') return answer.say(read);
  return answer.parts
    .map((part) =>
      typeof part === 'string'
        ? part
        : isThere(part.call)
          ? String(read(part.call, part.path))
          : `$${nameOf(part)}`,
    )
    .join('');
}

const nameOf = ({ call, path }: Reference): string =>
  call + (path === '' ? '' : `.${path}`).replaceAll(/\.(\d+)/g, '[$1]');

function say(
  calls: readonly Call[],
  answer: string | undefined,
  conversation: Conversation,
  read: Read,
  isThere: Test,
  manner: Manner,
  isEarly: boolean,
): Speech {
  const plan =
    calls.length === 0 ? '' : `Next I need ${[...new Set(calls.map(({ tool }) => tool))].join(' and ')}.`;
  const written = calls.map((call) => ({ call, input: inputOf(call, conversation, read, isThere) }));
  const waits = (call: Call) => (call.after ?? []).filter((id) => !isThere(id));
  const referenced = new Set(
    calls.flatMap((call) => [
      ...waits(call),
      ...Object.values(call.arguments).flatMap((argument) =>
        typeof argument === 'string' ? [] : referencesIn(argument).map((each) => each.call),
      ),
    ]),
  );
  if (manner === 'tags') {
    const needsId = (id: string) => isEarly || referenced.has(id);
    const actions = writeActions(
      written.map((each) => ({ ...each, waits: waits(each.call) })),
      needsId,
    );
    return {
      text: `${plan === '' ? '' : `${plan}\n`}${actions}${answer === undefined ? '' : `<response>${answer}</response>`}`,
      calls: [],
    };
  }
  const native = written.map(({ call, input }) => {
    const run = {
      ...(referenced.has(call.id) || isEarly ? { id: call.id } : {}),
      ...(waits(call).length === 0 ? {} : { depends_on: waits(call) }),
    };
    const withRun = manner === 'tools' && Object.keys(run).length > 0 ? { ...input, _run: run } : input;
    return {
      id: nativeId(call.id),
      name: offered(call.tool, conversation.tools).name,
      input: JSON.stringify(withRun),
    };
  });
  if (answer === undefined) return { text: plan, calls: native };
  if (!isEarly) return { text: answer, calls: [] };
  return {
    text: plan,
    calls: [...native, { id: nativeId('respond'), name: 'respond', input: JSON.stringify({ text: answer }) }],
  };
}

/** Frameworks name what asks a sub-agent, and its question, in their own ways: as the schema says that was sent. */
function inputOf(
  call: Call,
  { tools, inTags }: Conversation,
  read: Read,
  isThere: Test,
): Record<string, string> {
  const entries = Object.entries(call.arguments).map(
    ([name, argument]) => [name, write(argument, read, isThere)] as const,
  );
  if (inTags || call.tool !== 'researcher') return Object.fromEntries(entries);
  const { parameters } = offered(call.tool, tools);
  const name = parameters?.required?.[0] ?? Object.keys(parameters?.properties ?? {})[0] ?? 'input';
  return { [name]: entries[0]?.[1] ?? '' };
}

function offered(tool: string, tools: readonly OfferedTool[]): OfferedTool {
  const found = tools.find(({ name }) => name === tool) ?? tools.find(({ name }) => name.endsWith(tool));
  if (found === undefined) throw new Error(`The system did not offer the tool "${tool}".`);
  return found;
}
