import { deepEqual } from '../../expressions/values.ts';
import { RuntimeError } from '../../lib/errors.ts';
import type { Json, JsonObject } from '../../lib/json.ts';
import type { WorkflowManifest } from '../../manifest/schema/kinds.ts';
import { showValue } from '../../manifest/schema/show-value.ts';
import type { SessionAct } from '../scope.ts';
import type { StepAttempt } from '../step-executor.ts';
import type { PrepareStep, StepContext } from './step-deps.ts';
import { resolveInStep, resolveMap, stepWhat } from './step-deps.ts';

/** The maximum size of a value as JSON. */
const MAX_CHARS = 64 * 1024;

/**
 * Sets variables. Variables that the workflow declares belong to the run. Others are sent to the session,
 * which checks them itself. The run sees its new values at once, whatever the session does.
 */
export const prepareSetVariable: PrepareStep<'set_variable'> = async (step, place, context) => {
  const { session, workflow } = context;
  const input = await resolveMap(step.values, 'values', place, context);
  for (const [name, value] of Object.entries(input)) checkOwn(name, value, workflow);
  return {
    input,
    repeatable: true,
    async run(call) {
      const isKept = (name: string) => context.journal.state.kept?.[name] !== undefined;
      const others = Object.entries(call.input).filter(([name]) => !isOwn(name, workflow) && !isKept(name));
      if (session !== undefined && others.length > 0) {
        const act = { kind: 'set_variable', values: Object.fromEntries(others) } as const;
        if (!(await askSession(act, call, context))) throw sessionEnded(stepWhat(place));
      }
      change(call.input, call, context);
      return call.input;
    },
  };
};

function change(values: JsonObject, { step, cause }: StepAttempt, { journal }: StepContext): void {
  for (const [name, to] of Object.entries(values)) {
    const { variables, kept } = journal.state;
    const from = variables.get(name) ?? null;
    // Another run may have changed a stored variable since, and the last write wins.
    if (deepEqual(from, to) && variables.has(name) && kept?.[name] === undefined) continue;
    journal.append({ type: 'variable.changed', name, from, to, by: `step ${step.name}` }, cause);
  }
}

const isOwn = (name: string, { context_variables: { runtime } }: WorkflowManifest): boolean =>
  runtime.some((each) => each.name === name);

function checkOwn(
  name: string,
  value: Json,
  { context_variables: { defined, runtime, derived } }: WorkflowManifest,
): void {
  if (derived.some((each) => each.name === name)) throw isDerived(name);
  const chars = JSON.stringify(value).length;
  if (chars > MAX_CHARS) throw tooLarge(name, chars);
  const own = [...runtime, ...defined].find((each) => each.name === name);
  if (own === undefined) return;
  if (!own.writers.includes('workflow')) throw notByWorkflow(name, own.writers);
  if (own.type !== 'any' && typeOf(value) !== own.type) throw wrongType(name, own.type, value);
}

function typeOf(value: Json): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

const isDerived = (name: string) =>
  new RuntimeError('variable_denied', `The variable "${name}" is derived from events, and cannot be set.`, {
    hint: 'Set what it is derived from, or declare a variable in "context_variables.runtime".',
  });

const notByWorkflow = (name: string, writers: readonly string[]) =>
  new RuntimeError('variable_denied', `The variable "${name}" is not a workflow's to set.`, {
    hint: `Its "writers": ${writers.length === 0 ? 'nobody' : writers.join(', ')}.`,
  });

const wrongType = (name: string, type: string, value: Json) =>
  new RuntimeError(
    'bad_parameters',
    `The variable "${name}" holds a value of type ${type}, not ${showValue(value)}.`,
    {
      hint: `Give it a value of type ${type}, or declare it with another "type".`,
    },
  );

const tooLarge = (name: string, chars: number) =>
  new RuntimeError(
    'bad_parameters',
    `The value of "${name}" has ${chars} characters; ${MAX_CHARS} are allowed.`,
    { hint: 'Keep it in a file or a relic, and its place in the variable.' },
  );

/**
 * Sends a command to the session, once for all attempts of the step. Returns false if there is no session any
 * more.
 */
const askSession = (
  act: SessionAct,
  { address, cause }: StepAttempt,
  { session }: StepContext,
): Promise<boolean> => session?.ask(address, act, cause) ?? Promise.resolve(false);

export const prepareSetMetadata: PrepareStep<'set_metadata'> = async (step, place, context) => {
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

export const prepareNotify: PrepareStep<'notify'> = async (step, place, context) => {
  const { message, to, data } = step;
  const written: Record<string, Json> = {
    message,
    ...(to === undefined ? {} : { to }),
    ...(data === undefined ? {} : { data }),
  };
  const resolved = await resolveMap(written, 'notify', place, context);
  // A reference may have any value.
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

export const prepareEmit: PrepareStep<'emit'> = async (step, place, context) => {
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

/** Records the event on the run's own log if there is no session. */
const onOwnLog = (name: string, data: Json, { cause }: StepAttempt, { journal }: StepContext): void => {
  journal.append({ type: 'custom', name, data }, cause);
};

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

const sessionEnded = (what: string) =>
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
