import type { Json, JsonObject } from '../../kernel/json.ts';
import { createNames, identifierOf, nameOf } from '../names.ts';
import { SourceFields } from '../report.ts';
import { given, listOf, literal, mapOf, mapTexts, textOf } from '../values.ts';
import { endpointCall } from './convert-relic.ts';
import { builtinCall, cleanSchema, schemaOf } from './convert-tool.ts';
import {
  type Converted,
  type Cortex,
  headOf,
  type ImportList,
  LISTS,
  type Needs,
  noNeeds,
  type Unit,
} from './import-cortex.ts';
import { celOf, type Names, pathOf, templateOf } from './references.ts';

type Path = readonly (string | number)[];

const CALLS: ReadonlySet<string> = new Set(['tool', 'relic', 'agent', 'workflow', 'feed']);

/** The steps of one workflow in the making. */
export class Steps {
  readonly #unit: Unit;
  readonly #context: Cortex;
  /** What calls that say nothing themselves take from the workflow. */
  readonly #defaults: { readonly retry?: Json | undefined; readonly onError?: string | undefined };
  readonly #taken = createNames();
  readonly #steps = new Map<string, string>();
  readonly #variables = new Map<string, string>();
  readonly names: Names = { steps: this.#steps, variables: this.#variables };
  readonly needs: Needs = noNeeds();
  /** Whether a return inside other steps may have ended the run: what comes behind it asks. */
  returns = false;

  constructor(
    unit: Unit,
    context: Cortex,
    defaults: { retry?: Json | undefined; onError?: string | undefined },
  ) {
    this.#unit = unit;
    this.#context = context;
    this.#defaults = defaults;
  }

  list(steps: unknown, path: Path): readonly JsonObject[] {
    return listOf(steps).map((each, index) => this.#step(mapOf(each), [...path, index]));
  }

  #step(value: JsonObject, path: Path): JsonObject {
    const id = textOf(value.id) ?? textOf(value.name) ?? textOf(value.target) ?? String(value.type);
    const name = this.#taken.take(nameOf(id));
    const fields = new SourceFields(value, { step: id, path }, this.#unit.report);
    const isSkipped = this.returns;
    const isKept = id === name;
    if (value.id !== undefined) fields.note('id', isKept ? 'kept' : 'changed', `name ${name}`);
    const title = textOf(fields.kept('name', value.id === undefined ? `name ${name}` : 'description'));
    const description = textOf(fields.kept('description')) ?? (value.id === undefined ? undefined : title);
    const type = textOf(fields.take('type')) ?? 'tool';
    const own = this.#own(type, name, fields, path);
    fields.note('type', own.type === type ? 'kept' : 'changed', `type ${String(own.type)}`);
    const common = this.#common(type, fields);
    // Only the steps behind it can refer to it.
    this.#steps.set(id, name);
    fields.rest();
    const test = isSkipped ? { if: 'returned != true' } : {};
    return {
      name,
      ...given({ description: description && literal(description) }),
      ...test,
      ...own,
      ...common,
    };
  }

  /** What every step has: its condition, tries, time, and what a failure means. */
  #common(type: string, fields: SourceFields): JsonObject {
    const condition = type === 'condition' ? undefined : textOf(fields.changed('condition', 'CEL'));
    const policy = fields.map('retry_policy');
    const attempts = Number(policy.kept('max_attempts', 'retry') ?? 1);
    policy.changed('backoff', 'each pause is twice the one before');
    policy.rest();
    const tries = Number(fields.kept('max_retries', 'retry') ?? 0);
    const timeout =
      type === 'human' ? undefined : (fields.kept('timeout') ?? fields.kept('timeout_sec', 'timeout'));
    const word =
      textOf(fields.kept('on_error')) ??
      textOf(fields.kept('on_failure', 'on_error')) ??
      this.#defaults.onError;
    const max = Math.max(attempts - 1, tries, word === 'retry' ? 1 : 0);
    return given({
      condition:
        condition === undefined ? undefined : celOf(condition, this.names, { fields, key: 'condition' }),
      retry: max > 0 ? { max, backoff: '1s' } : CALLS.has(type) ? this.#defaults.retry : undefined,
      timeout,
      on_error: word === 'skip' || word === 'continue' ? 'continue' : undefined,
    });
  }

  #own(type: string, name: string, fields: SourceFields, path: Path): JsonObject {
    const text = (key: string, how = key) =>
      templateOf(textOf(fields.kept(key, how)) ?? '', this.names, { fields, key });
    const value = (key: string, how: string) =>
      mapTexts(fields.kept(key, how) ?? null, (each) => templateOf(each, this.names, { fields, key }));
    const nested = (key: string, how = key) => this.list(fields.kept(key, how), [...path, key]);
    const test = (source: string, key: string) => celOf(source, this.names, { fields, key });
    switch (type) {
      case 'parallel':
        return { type: 'parallel', branches: orNothing(nested('steps', 'branches')) };
      case 'condition': {
        const asked = test(
          textOf(fields.changed('condition', 'the case of a switch, in CEL')) ?? '',
          'condition',
        );
        const cases = [{ if: asked, body: orNothing(nested('then', 'the case')) }];
        return { type: 'switch', cases, ...given({ default: nested('else', 'default') }) };
      }
      case 'switch': {
        const on = textOf(fields.changed('on', 'the tests of the cases')) ?? '';
        const cases = listOf(fields.kept('cases')).map((each, index) => ({
          if: test(`${on} == ${JSON.stringify(String(mapOf(each).value))}`, 'on'),
          body: orNothing(this.list(mapOf(each).steps, [...path, 'cases', index, 'steps'])),
        }));
        return { type: 'switch', cases, ...given({ default: nested('default') }) };
      }
      case 'loop': {
        const max = Number(fields.kept('max') ?? fields.kept('max_iterations', 'max') ?? 10);
        const body = orNothing(nested('body'));
        const until = textOf(fields.kept('until'));
        return { type: 'loop', until: until === undefined ? 'false' : test(until, 'until'), max, body };
      }
      case 'map': {
        const over = textOf(fields.kept('over', 'in')) ?? '[]';
        const as = textOf(fields.kept('as')) ?? 'item';
        const items = /^\[/.test(over)
          ? jsonOf(over)
          : templateOf(over, this.names, { fields, key: 'over' }).replace(/ \?\? null\}$/, ' ?? []}');
        this.#variables.set(as, identifierOf(as));
        const body = orNothing([...nested('step', 'body'), ...nested('steps', 'body'), ...nested('body')]);
        return { type: 'foreach', in: items, as: identifierOf(as), max_parallel: 1, body };
      }
      case 'try_catch': {
        const body = orNothing(nested('body'));
        return {
          type: 'try',
          body,
          catch: orNothing(nested('catch')),
          ...given({ finally: nested('finally') }),
        };
      }
      case 'emit': {
        const event = eventName(textOf(fields.take('event')) ?? 'event');
        fields.note('event', event === fields.value.event ? 'kept' : 'changed', `event ${event}`);
        return { type: 'emit', event, ...given({ data: value('payload', 'data') }) };
      }
      case 'checkpoint':
        return {
          type: 'notify',
          message: text('message') || 'Checkpoint.',
          ...given({ data: value('state', 'data') }),
        };
      case 'human':
        return this.#approval(name, text('prompt') || 'Go on?', fields);
      case 'return': {
        const result = value('value', 'the result');
        if (path.length === 2)
          return { type: 'script', script: 'parameters.value', parameters: { value: result } };
        this.returns = true;
        fields.note(
          'value',
          'changed',
          'the variables "returned" and "result": the steps behind it are skipped',
        );
        return { type: 'set_variable', values: { returned: true, result } };
      }
      default:
        if (CALLS.has(type)) return this.#call(type, fields);
        fields.note('type', 'left', `nothing corresponds to a step of type ${type}: it fails when it runs`);
        return fails(`The step of type ${type} was not converted.`);
    }
  }

  #call(type: string, fields: SourceFields): JsonObject {
    const key = fields.value.target === undefined ? type : 'target';
    const reference = textOf(fields.take(key)) ?? '';
    const written = fields.kept('params', 'parameters') ?? fields.kept('parameters');
    const parameters = mapOf(
      mapTexts(written ?? {}, (each) => templateOf(each, this.names, { fields, key: 'params' })),
    );
    const action = textOf(fields.kept('action', 'part of the parameters'));
    const kind = type === 'feed' ? 'tool' : type;
    const list = `${kind}s` as ImportList;
    const found = this.#context.target(list, reference, this.#unit);
    if (found === undefined) {
      fields.note(
        key,
        'left',
        `no ${type} "${reference}" is among the imported files: the step fails when it runs`,
      );
      return { ...fails(`There was no ${type} "${reference}" among the imported files.`), parameters };
    }
    const { target, entry, unit } = found;
    this.needs[list].add(entry);
    fields.note(key, target === reference ? 'kept' : 'changed', `target ${target}`);
    if (unit === undefined)
      return { type: 'tool', target, parameters: builtinCall(bareName(reference), parameters, fields) };
    if (type === 'relic') {
      const call = endpointCall(unit, parameters, action);
      if (call === undefined) fields.note('params', 'left', `no endpoint of ${target} takes them: name one`);
      return { type, target, parameters: call ?? parameters };
    }
    if (type !== 'agent') return { type: kind, target, parameters: { ...given({ action }), ...parameters } };
    const { instruction, task, prompt, query, ...others } = parameters;
    const input = [instruction, task, prompt, query].flatMap((each) => textOf(each) ?? []).join('\n\n');
    return {
      type,
      target,
      parameters: { ...given({ input: input || undefined }), ...(others as JsonObject) },
    };
  }

  #approval(name: string, prompt: string, fields: SourceFields): JsonObject {
    const fallback = textOf(fields.kept('default', 'on_timeout'));
    const words = /\[([^\][]*\/[^\][]*)\]\s*$/
      .exec(prompt)?.[1]
      ?.split('/')
      .map((each) => each.trim()) ?? ['y', 'n'];
    const timeout = fields.kept('timeout_sec', 'timeout') ?? fields.kept('timeout');
    const answer = textOf(fields.changed('response_var', 'the choice of the step'));
    if (answer !== undefined) this.#variables.set(answer, `steps.${name}.output.choice`);
    const options = [...new Set([...words, ...(fallback === undefined ? [] : [fallback])])];
    return {
      type: 'approval',
      prompt,
      options,
      ...given({ timeout, on_timeout: timeout === undefined ? undefined : fallback }),
    };
  }
}

export const bareName = (reference: string): string => reference.replace(/^builtin\//, '');

/** The name of an event has no dot here. */
const eventName = (event: string): string => nameOf(event.replaceAll('.', '_'));

const fails = (message: string): JsonObject => ({
  type: 'script',
  script: `throw new Error(${JSON.stringify(message)});`,
});

/** A list of steps must not be empty. */
const orNothing = (steps: readonly JsonObject[]): readonly JsonObject[] =>
  steps.length > 0 ? steps : [{ name: 'nothing', type: 'script', script: 'null' }];

function jsonOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // Not JSON: one item, as it is written.
    return [literal(text)];
  }
}

export function convertWorkflow(unit: Unit, context: Cortex): Converted {
  const { fields, name } = unit;
  const { about, version, description } = headOf(fields);
  const settings = fields.map('configuration');
  const policy = settings.map('default_retry_policy');
  const attempts = Number(policy.kept('max_attempts', 'retry of each call') ?? 1);
  policy.changed('backoff', 'each pause is twice the one before');
  policy.rest();
  const onError = textOf(settings.map('error_handling').kept('on_step_failure', 'on_error of each step'));
  settings.left('timeout', 'a time limit belongs to a step');
  settings.left('observability', 'the log has every step');
  settings.rest();
  const retry = attempts > 1 ? { max: attempts - 1, backoff: '1s' } : undefined;
  const steps = new Steps(unit, context, { retry, onError });
  const list = orNothing(steps.list(fields.kept('steps'), ['steps']));
  const { trigger, input } = triggerOf(fields);
  const schema = fields.kept('input_schema', 'input');
  const outputs = Object.entries(mapOf(fields.changed('outputs', 'the result of a last step'))).map(
    ([key, each]) => {
      const path = pathOf((textOf(mapOf(each).source) ?? '').replace(/^\$/, ''), steps.names, {
        fields,
        key: 'outputs',
      });
      return [key, path === undefined ? null : `\${${path} ?? null}`] as const;
    },
  );
  const last = {
    name: 'outputs',
    type: 'script',
    script: 'parameters',
    parameters: Object.fromEntries(outputs),
  };
  fields.left('output_schema', 'the result of a workflow is not checked');
  fields.changed('auto_checkpoint', 'each step is on the log, and a run goes on from there');
  const imports = fields.map('import');
  for (const each of LISTS) context.resolve(each, imports, unit, steps.needs);
  imports.rest();
  context.needs.set(unit, steps.needs);
  const runtime = steps.returns
    ? [
        { name: 'returned', type: 'boolean', default: false },
        { name: 'result', type: 'object' },
      ]
    : [];
  const manifest = {
    kind: 'Workflow',
    name,
    ...given({
      version,
      description,
      input: schema === undefined ? input : cleanSchema(schema),
      context_variables: given({ runtime }),
      trigger,
    }),
    steps: [...list, ...(outputs.length > 0 ? [last] : [])],
  };
  return { manifests: [{ path: unit.out, manifest }], about };
}

function triggerOf(fields: SourceFields): {
  readonly trigger?: JsonObject;
  readonly input?: JsonObject | undefined;
} {
  const given = fields.map('trigger');
  const type = textOf(given.take('type'));
  const parameters = given.kept('parameters', 'input');
  const input = parameters === undefined ? undefined : schemaOf(parameters, fields);
  const schedule = textOf(given.kept('schedule', 'cron'));
  const event = textOf(given.kept('event', 'an event of type custom'));
  given.rest();
  if (type === undefined) return { input };
  const isKnown = schedule !== undefined || event !== undefined || type === 'manual';
  given.note(
    'type',
    isKnown ? 'kept' : 'left',
    isKnown ? 'the trigger' : `nothing corresponds to ${type}: started by hand`,
  );
  if (schedule !== undefined) return { trigger: { type: 'schedule', cron: schedule }, input };
  if (event !== undefined)
    return { trigger: { type: 'event', event: 'custom', match: { name: eventName(event) } }, input };
  return { trigger: { type: 'manual' }, input };
}
