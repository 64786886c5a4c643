import type { Json, JsonObject } from '../../kernel/json.ts';
import { createNames, type Names as Given, identifierOf, nameOf } from '../names.ts';
import { SourceFields } from '../report.ts';
import { BUILTIN_TOOLS, endpointCall, parametersOf } from './convert-tool.ts';
import {
  aboutOf,
  type Converted,
  type Cortex,
  commonOf,
  type ImportList,
  type Needs,
  noNeeds,
  type Unit,
} from './import-cortex.ts';
import {
  celOf,
  cleanSchema,
  listOf,
  literal,
  mapOf,
  mapTexts,
  type Names,
  pathOf,
  schemaOf,
  setIf,
  templateOf,
  textOf,
} from './texts.ts';

/** What a step inherits from its workflow. */
interface Defaults {
  readonly retry?: Json | undefined;
  readonly on_error?: string | undefined;
}

/** One workflow in the making. */
export class Steps {
  readonly #unit: Unit;
  readonly #context: Cortex;
  readonly #defaults: Defaults;
  readonly #taken: Given = createNames();
  readonly #names = new Map<string, string>();
  readonly #variables = new Map<string, string>();
  readonly needs: Needs = noNeeds();
  /** Whether a return inside other steps ends the run: what comes behind it asks. */
  returns = false;

  constructor(unit: Unit, context: Cortex, defaults: Defaults) {
    this.#unit = unit;
    this.#context = context;
    this.#defaults = defaults;
  }

  names(report: SourceFields, key: string): Names {
    return {
      steps: this.#names,
      variables: this.#variables,
      doubt: (what) => report.note(key, 'left', what),
    };
  }

  list(given: Json | undefined, path: readonly (string | number)[]): readonly JsonObject[] {
    return listOf(given).map((each, index) => this.step(mapOf(each), [...path, index]));
  }

  step(value: JsonObject, path: readonly (string | number)[]): JsonObject {
    const id = textOf((value.id ?? value.name) as Json) ?? String(value.type);
    const name = this.#taken.take(nameOf(id));
    const fields = new SourceFields(value, { step: id, path }, this.#unit.report);
    const guarded = this.returns;
    for (const key of ['id', 'name'])
      if (value[key] !== undefined)
        fields.note(
          key,
          value[key] === name ? 'kept' : 'changed',
          key === 'id' || value.id === undefined ? `name ${name}` : 'description',
        );
    const title = value.id === undefined ? undefined : textOf(value.name as Json);
    const description = textOf(fields.kept('description')) ?? title;
    const type = textOf(fields.take('type')) ?? 'tool';
    const own = this.#own(type, fields, path);
    fields.note('type', own.type === type ? 'kept' : 'changed', `type ${String(own.type)}`);
    const common = this.#common(fields, type);
    const test = guarded ? { if: 'returned != true' } : {};
    // Behind the step: it cannot refer to itself.
    this.#names.set(id, name);
    fields.rest();
    return {
      name,
      ...setIf('description', description === undefined ? undefined : literal(description)),
      ...test,
      ...own,
      ...common,
    };
  }

  /** What every step has: conditions, tries, time, failures. */
  #common(fields: SourceFields, type: string): JsonObject {
    const condition = type === 'condition' ? undefined : textOf(fields.changed('condition', 'CEL'));
    const policy = fields.map('retry_policy');
    const attempts = Number(policy?.kept('max_attempts', 'retry') ?? 0);
    const tries = Number(fields.kept('max_retries', 'retry') ?? 0);
    policy?.changed('backoff', 'exponential: each pause is twice the one before');
    policy?.rest();
    const isAsked = type === 'human';
    const timeout = isAsked ? undefined : (fields.kept('timeout') ?? fields.kept('timeout_sec', 'timeout'));
    const written = textOf(fields.take('on_error')) ?? textOf(fields.take('on_failure'));
    const word = written ?? this.#defaults.on_error;
    const onError = word === 'skip' || word === 'continue' ? 'continue' : undefined;
    for (const key of ['on_error', 'on_failure'])
      if (fields.value[key] !== undefined)
        fields.note(
          key,
          'kept',
          onError === undefined
            ? word === 'retry'
              ? 'retry, then fail'
              : 'fail, which is the default'
            : 'on_error: continue',
        );
    const further = Math.max(attempts - 1, tries, word === 'retry' ? 1 : 0);
    const retry: Json | undefined =
      further > 0 ? { max: further, backoff: '1s' } : CALLS.has(type) ? this.#defaults.retry : undefined;
    return {
      ...(condition === undefined ? {} : { condition: celOf(condition, this.names(fields, 'condition')) }),
      ...setIf('retry', retry),
      ...setIf('timeout', timeout as Json | undefined),
      ...setIf('on_error', onError),
    };
  }

  #own(type: string, fields: SourceFields, path: readonly (string | number)[]): JsonObject {
    const text = (key: string, how?: string) => {
      const value = textOf(fields.kept(key, how ?? key));
      return value === undefined ? undefined : templateOf(value, this.names(fields, key));
    };
    const nested = (key: string, as: string = key) => {
      if (fields.value[key] !== undefined) fields.note(key, 'kept', as);
      return this.list(fields.take(key), [...path, key]);
    };
    const value = (key: string, how: string) => {
      const given = fields.kept(key, how);
      return given === undefined
        ? undefined
        : mapTexts(given, (each) => templateOf(each, this.names(fields, key)));
    };
    switch (type) {
      case 'tool':
      case 'relic':
      case 'agent':
      case 'workflow':
      case 'feed':
        return this.#call(type, fields);
      case 'parallel':
        return { type: 'parallel', branches: nested('steps', 'branches') };
      case 'condition': {
        const test = textOf(fields.changed('condition', 'the case of a switch, in CEL')) ?? 'true';
        const otherwise = nested('else', 'default');
        return {
          type: 'switch',
          cases: [
            { if: celOf(test, this.names(fields, 'condition')), body: orNothing(nested('then', 'the case')) },
          ],
          ...setIf('default', otherwise),
        };
      }
      case 'switch': {
        const on = textOf(fields.changed('on', 'the tests of the cases')) ?? '';
        const names = this.names(fields, 'on');
        const cases = listOf(fields.kept('cases')).map((each, index) => ({
          if: celOf(`${on} == ${JSON.stringify(String(mapOf(each).value ?? ''))}`, names),
          body: orNothing(this.list(mapOf(each).steps as Json, [...path, 'cases', index, 'steps'])),
        }));
        return { type: 'switch', cases, ...setIf('default', nested('default')) };
      }
      case 'loop': {
        const until = textOf(fields.kept('until')) ?? 'false';
        const max = Number(fields.kept('max', 'max') ?? fields.kept('max_iterations', 'max') ?? 10);
        const body = orNothing(nested('body'));
        return { type: 'loop', until: celOf(until, this.names(fields, 'until')), max, body };
      }
      case 'map': {
        const over = textOf(fields.kept('over', 'in')) ?? '[]';
        const as = textOf(fields.kept('as')) ?? 'item';
        const variable = identifierOf(as);
        this.#variables.set(as, variable);
        const body = listOf(fields.take('step') ?? fields.take('steps') ?? fields.take('body'));
        for (const key of ['step', 'steps', 'body'])
          if (fields.value[key] !== undefined) fields.note(key, 'kept', 'body');
        const items = itemsOf(over, templateOf(over, this.names(fields, 'over')));
        return {
          type: 'foreach',
          in: items,
          as: variable,
          max_parallel: 1,
          body: orNothing(this.list(body as Json, [...path, 'step'])),
        };
      }
      case 'try_catch': {
        const body = orNothing(nested('body'));
        const caught = nested('catch');
        const last = nested('finally');
        return { type: 'try', body, catch: orNothing(caught), ...setIf('finally', last) };
      }
      case 'emit': {
        const event = textOf(fields.take('event')) ?? 'event';
        const name = nameOf(event.replaceAll('.', '_'));
        fields.note('event', name === event ? 'kept' : 'changed', `event ${name}`);
        return { type: 'emit', event: name, ...setIf('data', value('payload', 'data')) };
      }
      case 'checkpoint': {
        fields.note('type', 'changed', 'a message: each step is on the log anyway');
        return {
          type: 'notify',
          message: text('message') ?? 'Checkpoint.',
          ...setIf('data', value('state', 'data')),
        };
      }
      case 'human':
        return this.#approval(fields, text('prompt') ?? 'Go on?');
      case 'return':
        return this.#return(value('value', 'the result'), path, fields);
      default:
        fields.note('type', 'left', `nothing corresponds to a step of type ${type}: it fails when it runs`);
        return fails(`The step of type ${type} was not converted.`);
    }
  }

  #call(type: string, fields: SourceFields): JsonObject {
    const key = fields.value.target === undefined ? type : 'target';
    const reference = textOf(fields.take(key)) ?? '';
    const names = this.names(fields, 'params');
    const written = parametersOf(
      (fields.kept('params', 'parameters') ?? fields.kept('parameters')) as Json | undefined,
      (each) => templateOf(each, names),
    );
    const action = textOf(fields.kept('action', 'part of the parameters'));
    const list = `${type === 'feed' ? 'tool' : type}s` as ImportList;
    const found = this.#context.target(list, reference, this.#unit);
    if (found === undefined) {
      fields.note(
        key,
        'left',
        `no ${type} "${reference}" is among the imported files: the step fails when it runs`,
      );
      return fails(`There was no ${type} "${reference}" among the files that were imported.`, written);
    }
    this.needs[list].add(found.entry);
    if (found.unit === undefined) {
      fields.note(key, 'changed', `builtin:${found.target}`);
      const call = BUILTIN_TOOLS[reference.replace(/^builtin\//, '')]?.call(written) ?? written;
      return { type: 'tool', target: found.target, parameters: call };
    }
    fields.note(key, found.target === reference ? 'kept' : 'changed', `target ${found.target}`);
    if (type === 'relic') {
      const call = endpointCall(found.unit, written, action);
      if (call === undefined)
        fields.note('params', 'left', `no endpoint of ${found.target} takes these parameters: name one`);
      return { type, target: found.target, parameters: call ?? written };
    }
    if (type === 'agent') {
      const { instruction, task, query, prompt, ...others } = written;
      const input = [instruction, task, prompt, query].filter((each) => each !== undefined);
      return {
        type,
        target: found.target,
        parameters: {
          ...(input.length === 0
            ? {}
            : { input: input.length === 1 ? (input[0] as Json) : input.map(String).join('\n\n') }),
          ...(others as JsonObject),
        },
      };
    }
    return {
      type: type === 'feed' ? 'tool' : type,
      target: found.target,
      parameters: action === undefined ? written : { action, ...written },
    };
  }

  #approval(fields: SourceFields, prompt: string): JsonObject {
    const fallback = textOf(fields.kept('default', 'on_timeout'));
    const choices = /\[([^\][]*\/[^\][]*)\]\s*$/.exec(prompt)?.[1]?.split('/') ?? ['y', 'n'];
    const options = [
      ...new Set([...choices.map((each) => each.trim()), ...(fallback === undefined ? [] : [fallback])]),
    ];
    const timeout =
      fields.kept('timeout_sec', 'timeout') ?? (fallback === undefined ? undefined : fields.kept('timeout'));
    const answer = textOf(fields.changed('response_var', 'the choice of the step'));
    if (answer !== undefined)
      this.#variables.set(
        answer,
        `steps.${nameOf(textOf((fields.value.id ?? fields.value.name) as Json) ?? 'human')}.output.choice`,
      );
    return {
      type: 'approval',
      prompt,
      options,
      ...setIf('timeout', timeout as Json | undefined),
      ...(fallback === undefined || timeout === undefined ? {} : { on_timeout: fallback }),
    };
  }

  /** At the end, the result; inside other steps, a variable that skips what comes behind. */
  #return(value: Json | undefined, path: readonly (string | number)[], fields: SourceFields): JsonObject {
    const result = { type: 'script', script: 'parameters.value', parameters: { value: value ?? null } };
    if (path.length === 2) return result;
    this.returns = true;
    fields.note('value', 'changed', 'the variables "returned" and "result": the steps behind it are skipped');
    return { type: 'set_variable', values: { returned: true, result: value ?? null } };
  }
}

const CALLS: ReadonlySet<string> = new Set(['tool', 'relic', 'agent', 'workflow', 'feed']);

const fails = (message: string, parameters: JsonObject = {}): JsonObject => ({
  type: 'script',
  script: `throw new Error(${JSON.stringify(message)});`,
  ...(Object.keys(parameters).length === 0 ? {} : { parameters }),
});

/** A list of steps must not be empty. */
const orNothing = (steps: readonly JsonObject[]): readonly JsonObject[] =>
  steps.length > 0 ? steps : [{ name: 'nothing', type: 'script', script: 'null' }];

function itemsOf(written: string, template: string): Json {
  try {
    const list = JSON.parse(written) as Json;
    return Array.isArray(list) ? list : [list];
  } catch {
    // It is a reference: the default of an empty list keeps a missing one from failing.
    return template.replace(/ \?\? (null|'')\}$/, ' ?? []}');
  }
}

export function convertWorkflow(unit: Unit, context: Cortex): Converted {
  const { fields, name } = unit;
  const about = aboutOf(fields);
  const common = commonOf(fields);
  const settings = fields.map('configuration');
  const policy = settings?.map('default_retry_policy');
  const attempts = Number(policy?.kept('max_attempts', 'retry of each call') ?? 1);
  policy?.changed('backoff', 'exponential: each pause is twice the one before');
  policy?.rest();
  const errors = settings?.map('error_handling');
  const onFailure = textOf(errors?.kept('on_step_failure', 'on_error of each step'));
  errors?.rest();
  settings?.left('timeout', 'a time limit belongs to a step');
  settings?.left('observability', 'the log has every step');
  settings?.rest();
  const steps = new Steps(unit, context, {
    ...(attempts > 1 ? { retry: { max: attempts - 1, backoff: '1s' } } : {}),
    ...(onFailure === undefined ? {} : { on_error: onFailure }),
  });
  const converted = [...steps.list(fields.kept('steps'), ['steps'])];
  const { trigger, input } = triggerOf(fields);
  const schema = fields.kept('input_schema', 'input');
  const outputs = outputsOf(fields, steps);
  fields.left('output_schema', 'the result of a workflow is not checked');
  fields.changed('auto_checkpoint', 'each step is on the log, and a run goes on from there');
  importsOf(unit, context, steps.needs);
  context.needs.set(unit, steps.needs);
  if (converted.length === 0) {
    fields.note('steps', 'changed', 'a workflow has at least one step: one that does nothing');
    converted.push({ name: 'nothing', type: 'script', script: 'null' });
  }
  const variables = steps.returns
    ? {
        context_variables: {
          runtime: [
            { name: 'returned', type: 'boolean', default: false },
            { name: 'result', type: 'object' },
          ],
        },
      }
    : {};
  return {
    manifests: [
      {
        path: unit.out,
        manifest: {
          kind: 'Workflow',
          name,
          ...common,
          ...setIf('input', schema === undefined ? input : cleanSchema(schema)),
          ...variables,
          ...setIf('trigger', trigger),
          steps: [...converted, ...outputs],
        },
      },
    ],
    about,
  };
}

function triggerOf(fields: SourceFields): { readonly trigger?: JsonObject; readonly input?: JsonObject } {
  const trigger = fields.map('trigger');
  if (trigger === undefined) return {};
  const type = textOf(trigger.take('type')) ?? 'manual';
  const parameters = trigger.kept('parameters', 'input');
  const input = parameters === undefined ? {} : { input: schemaOf(parameters) };
  const schedule = textOf(trigger.kept('schedule', 'cron'));
  const event = textOf(trigger.kept('event', 'an event of type custom'));
  trigger.rest();
  if (schedule !== undefined) {
    trigger.note('type', 'kept', 'schedule');
    return { trigger: { type: 'schedule', cron: schedule }, ...input };
  }
  if (event !== undefined) {
    const name = nameOf(event.replaceAll('.', '_'));
    trigger.note('type', 'changed', `an event that a step of type emit puts on the log: ${name}`);
    return { trigger: { type: 'event', event: 'custom', match: { name } }, ...input };
  }
  trigger.note(
    'type',
    type === 'manual' ? 'kept' : 'left',
    type === 'manual' ? 'manual' : `nothing corresponds to a trigger of type ${type}: started by hand`,
  );
  return { trigger: { type: 'manual' }, ...input };
}

/** `outputs` are the result of a last step. */
function outputsOf(fields: SourceFields, steps: Steps): readonly JsonObject[] {
  const outputs = Object.entries(mapOf(fields.changed('outputs', 'the result of a last step')));
  if (outputs.length === 0) return [];
  const names = steps.names(fields, 'outputs');
  const parameters = outputs.map(([key, each]) => {
    const source = textOf(mapOf(each as Json).source as Json) ?? '';
    const path = pathOf(source.replace(/^\$/, ''), names);
    return [key, path === undefined ? null : `\${${path} ?? null}`] as const;
  });
  return [
    { name: 'outputs', type: 'script', script: 'parameters', parameters: Object.fromEntries(parameters) },
  ];
}

/** Imports stand in the agent here: whoever imports the workflow imports these too. */
function importsOf(unit: Unit, context: Cortex, needs: Needs): void {
  const imports = unit.fields.map('import');
  if (imports === undefined) return;
  for (const list of ['tools', 'relics', 'agents', 'workflows'] as const)
    for (const each of listOf(imports.take(list))) {
      const found = context.target(list, String(each), unit);
      if (found !== undefined) needs[list].add(found.entry);
      imports.note(
        list,
        found === undefined ? 'left' : 'changed',
        found === undefined
          ? `${String(each)} is not among the imported files`
          : `${String(each)}: stands in the agents that import the workflow`,
      );
    }
  imports.rest();
}
