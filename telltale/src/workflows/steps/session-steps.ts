import type { Json } from '../../kernel/json.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { LeafCall } from '../leaf.ts';
import type { SessionAct } from '../session-link.ts';
import type { LeafContext, PrepareLeaf } from './leaf-edges.ts';
import { resolveInStep, resolveMap, stepWhat } from './resolve-in-step.ts';

/** Asks the session for something: once, however often the step is tried. False where there is no session any more. */
export const askSession = (
  act: SessionAct,
  { address, cause }: LeafCall,
  { session }: LeafContext,
): Promise<boolean> => session?.ask(address, act, cause) ?? Promise.resolve(false);

export const prepareSetMetadata: PrepareLeaf<'set_metadata'> = async (step, place, context) => {
  if (context.session === undefined) throw noSession(stepWhat(place));
  return {
    input: await resolveMap(step.values, 'values', place, context),
    repeatable: true,
    async run(call) {
      if (!(await askSession({ kind: 'set_metadata', values: call.input }, call, context)))
        throw sessionEnded(stepWhat(place));
      return call.input;
    },
  };
};

export const prepareNotify: PrepareLeaf<'notify'> = async (step, place, context) => {
  const { message, to, data } = step;
  const written: Record<string, Json> = {
    message,
    ...(to === undefined ? {} : { to }),
    ...(data === undefined ? {} : { data }),
  };
  const resolved = await resolveMap(written, 'notify', place, context);
  // One reference may have brought anything.
  const texts = ['message', 'to'].flatMap((key) =>
    Object.hasOwn(resolved, key) ? [[key, textOf(resolved[key] ?? null)]] : [],
  );
  return {
    input: { ...resolved, ...Object.fromEntries(texts) },
    repeatable: true,
    async run(call) {
      const act = { kind: 'notify', ...call.input } as unknown as SessionAct;
      if (!(await askSession(act, call, context))) onOwnLog('notify', call.input, call, context);
      return call.input;
    },
  };
};

export const prepareEmit: PrepareLeaf<'emit'> = async (step, place, context) => {
  const { event, data } = step;
  const resolved = data === undefined ? undefined : await resolveInStep(data, place, context);
  return {
    input: { event, ...(resolved === undefined ? {} : { data: resolved }) },
    repeatable: true,
    async run(call) {
      const { data: sent } = call.input;
      const act: SessionAct = { kind: 'emit', event, ...(sent === undefined ? {} : { data: sent }) };
      if (!(await askSession(act, call, context))) onOwnLog(event, sent ?? null, call, context);
      return call.input;
    },
  };
};

/** Where no session hears of it, who watches the run does. */
const onOwnLog = (name: string, data: Json, { cause }: LeafCall, { journal }: LeafContext): void => {
  journal.append({ type: 'custom', name, data }, cause);
};

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

export const sessionEnded = (what: string) =>
  new RuntimeError('session_ended', `The session that ${what} would change has ended.`, {
    hint: 'With "on_error: continue" the run goes on without it.',
  });

const noSession = (what: string) =>
  new RuntimeError(
    'no_session',
    `${what.replace(/^s/, 'S')} sets metadata, but the run belongs to no session.`,
    {
      hint: 'Start the workflow by a trigger or an action of an agent; a run on its own has variables: "type: set_variable".',
    },
  );
