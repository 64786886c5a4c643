import type { Json, JsonObject } from '../../lib/json.ts';
import { createNames, identifierOf, nameOf } from '../names.ts';
import { SourceMap } from '../source-map.ts';
import { filled, listOf, mapOf, mapTexts, plainText, templateOf, trimmedText } from '../values.ts';
import { builtinCall, cleanSchema, endpointCall, schemaOf } from './convert-tool.ts';
import {
  bareName,
  type Converted,
  type Cortex,
  type CortexImportList,
  LISTS,
  MISSING,
  Needs,
  type Unit,
} from './cortex.ts';

/** What calls that say nothing themselves take from the workflow. */
interface Defaults {
  readonly retry?: Json | undefined;
  readonly onError?: string | undefined;
}

type Values = Readonly<Record<string, Json | undefined>>;
type ConvertWorkflowPath = readonly (string | number)[];

const CALLS: ReadonlySet<string> = new Set(['tool', 'relic', 'agent', 'workflow', 'feed']);

/** The steps of one workflow in the making. */
class Steps {
  readonly #unit: Unit;
  readonly #context: Cortex;
  readonly #defaults: Defaults;
  readonly #taken = createNames();
  readonly #steps = new Map<string, string>();
  readonly #variables = new Map<string, string>();
  readonly names: StepNames = { steps: this.#steps, variables: this.#variables };
  readonly needs = new Needs();
  /** Whether a return inside other steps may have ended the run: what comes behind it asks. */
  returns = false;

  constructor(unit: Unit, context: Cortex, defaults: Defaults) {
    this.#unit = unit;
    this.#context = context;
    this.#defaults = defaults;
  }

  list(steps: unknown, path: ConvertWorkflowPath): readonly JsonObject[] {
    return listOf(steps).map((each, index) => this.#step(mapOf(each), [...path, index]));
  }

  #step(value: JsonObject, path: ConvertWorkflowPath): JsonObject {
    const id =
      trimmedText(value.id) ?? trimmedText(value.name) ?? trimmedText(value.target) ?? String(value.type);
    const name = this.#taken.take(nameOf(id));
    const fields = new SourceMap(value, id, path, this.#unit.report);
    const isSkipped = this.returns;
    if (value.id !== undefined) fields.renamed('id', name, 'name');
    const title = trimmedText(fields.kept('name', value.id === undefined ? `name ${name}` : 'description'));
    const description =
      trimmedText(fields.kept('description')) ?? (value.id === undefined ? undefined : title);
    const type = trimmedText(fields.take('type')) ?? 'tool';
    const own = this.#own(type, name, fields, path);
    fields.renamed('type', String(own.type));
    const common = this.#common(type, fields);
    // Only the steps behind it can refer to it.
    this.#steps.set(id, name);
    fields.rest();
    const test = isSkipped ? { if: 'returned != true' } : {};
    return filled({ name, description: description && plainText(description), ...test, ...own, ...common });
  }

  /** What every step has: its condition, tries, time, and what a failure means. */
  #common(type: string, fields: SourceMap): JsonObject {
    const condition = type === 'condition' ? undefined : trimmedText(fields.changed('condition', 'CEL'));
    const attempts = attemptsOf(fields.map('retry_policy'));
    const tries = Number(fields.kept('max_retries', 'retry') ?? 0);
    const timeout =
      type === 'human' ? undefined : (fields.kept('timeout') ?? fields.kept('timeout_sec', 'timeout'));
    const word =
      trimmedText(fields.kept('on_error')) ??
      trimmedText(fields.kept('on_failure', 'on_error')) ??
      this.#defaults.onError;
    const max = Math.max(attempts - 1, tries, word === 'retry' ? 1 : 0);
    return filled({
      condition:
        condition === undefined ? undefined : celOf(condition, this.names, { fields, key: 'condition' }),
      retry: max > 0 ? { max, backoff: '1s' } : CALLS.has(type) ? this.#defaults.retry : undefined,
      timeout,
      on_error: word === 'skip' || word === 'continue' ? 'continue' : undefined,
    });
  }

  #own(type: string, name: string, fields: SourceMap, path: ConvertWorkflowPath): Values {
    const text = (key: string, how = key) =>
      toTemplate(trimmedText(fields.kept(key, how)) ?? '', this.names, { fields, key });
    const value = (key: string, how: string) =>
      mapTexts(fields.kept(key, how) ?? null, (each) => toTemplate(each, this.names, { fields, key })) ??
      undefined;
    const nested = (key: string, how = key) => this.list(fields.kept(key, how), [...path, key]);
    const test = (source: string, key: string) => celOf(source, this.names, { fields, key });
    switch (type) {
      case 'parallel':
        return { type: 'parallel', branches: this.#orNothing(nested('steps', 'branches')) };
      case 'condition': {
        const asked = test(
          trimmedText(fields.changed('condition', 'the case of a switch, in CEL')) ?? '',
          'condition',
        );
        const cases = [{ if: asked, body: this.#orNothing(nested('then', 'the case')) }];
        return { type: 'switch', cases, default: nested('else', 'default') };
      }
      case 'switch': {
        const on = trimmedText(fields.changed('on', 'the tests of the cases')) ?? '';
        for (const each of listOf(fields.kept('cases'))) fields.leaveOthers('cases', each, 'value steps');
        const cases = listOf(fields.value.cases).map((each, index) => ({
          if: test(`${on} == ${JSON.stringify(String(mapOf(each).value))}`, 'on'),
          body: this.#orNothing(this.list(mapOf(each).steps, [...path, 'cases', index, 'steps'])),
        }));
        return { type: 'switch', cases, default: nested('default') };
      }
      case 'loop': {
        const max = Number(fields.kept('max') ?? fields.kept('max_iterations', 'max') ?? 10);
        const body = this.#orNothing(nested('body'));
        const until = trimmedText(fields.kept('until'));
        return { type: 'loop', until: until === undefined ? 'false' : test(until, 'until'), max, body };
      }
      case 'map': {
        const over = trimmedText(fields.kept('over', 'in')) ?? '[]';
        const as = trimmedText(fields.kept('as')) ?? 'item';
        const items = /^\[/.test(over)
          ? jsonOf(over)
          : toTemplate(over, this.names, { fields, key: 'over' }).replace(/ \?\? null\}$/, ' ?? []}');
        this.#variables.set(as, identifierOf(as));
        const body = this.#orNothing([
          ...nested('step', 'body'),
          ...nested('steps', 'body'),
          ...nested('body'),
        ]);
        return { type: 'foreach', in: items, as: identifierOf(as), max_parallel: 1, body };
      }
      case 'try_catch': {
        const body = this.#orNothing(nested('body'));
        return { type: 'try', body, catch: this.#orNothing(nested('catch')), finally: nested('finally') };
      }
      case 'emit': {
        const event = eventName(trimmedText(fields.take('event')) ?? 'event');
        fields.note('event', event === fields.value.event ? 'kept' : 'changed', `event ${event}`);
        return { type: 'emit', event, data: value('payload', 'data') };
      }
      case 'checkpoint':
        return { type: 'notify', message: text('message') || 'Checkpoint.', data: value('state', 'data') };
      case 'human':
        return this.#approval(name, text('prompt') || 'Go on?', fields);
      case 'return': {
        const result = value('value', 'the result') ?? null;
        if (path.length === 2) return { ...script('parameters.value'), parameters: { value: result } };
        this.returns = true;
        fields.changed('value', 'the variables "returned" and "result"; the steps after it are skipped');
        return { type: 'set_variable', values: { returned: true, result } };
      }
      default:
        if (CALLS.has(type)) return this.#call(type, fields);
        fields.note('type', 'left', `nothing corresponds to ${type}: the step fails when it runs`);
        return fails(`The step of type ${type} was not converted.`);
    }
  }

  #call(type: string, fields: SourceMap): JsonObject {
    const key = fields.value.target === undefined ? type : 'target';
    const reference = trimmedText(fields.take(key)) ?? '';
    const written = fields.kept('params', 'parameters') ?? fields.kept('parameters');
    const parameters = mapOf(
      mapTexts(written ?? {}, (each) => toTemplate(each, this.names, { fields, key: 'params' })),
    );
    const action = trimmedText(fields.kept('action', 'part of the parameters'));
    const kind = type === 'feed' ? 'tool' : type;
    const list = `${kind}s` as CortexImportList;
    const found = this.#context.target(list, reference, this.#unit);
    if (found === undefined) {
      fields.note(key, 'left', `${reference}: ${MISSING}; the step fails when it runs`);
      return { ...fails(`There was no ${type} "${reference}" among the imported files.`), parameters };
    }
    const { target, entry, unit } = found;
    this.needs[list].add(entry);
    fields.renamed(key, target, 'target');
    if (unit === undefined)
      return { type: 'tool', target, parameters: builtinCall(bareName(reference), parameters, fields) };
    if (type === 'relic') {
      const call = endpointCall(unit, parameters, action);
      if (call === undefined) fields.note('params', 'left', `no endpoint of ${target} takes them: name one`);
      return { type, target, parameters: call ?? parameters };
    }
    if (type !== 'agent') return { type: kind, target, parameters: { ...filled({ action }), ...parameters } };
    const { instruction, task, prompt, query, ...others } = parameters;
    const input = [instruction, task, prompt, query].flatMap((each) => trimmedText(each) ?? []).join('\n\n');
    return { type, target, parameters: filled({ input: input || undefined, ...others }) };
  }

  /** A list of steps must not be empty. */
  #orNothing(steps: readonly JsonObject[]): readonly JsonObject[] {
    return steps.length > 0 ? steps : [{ name: this.#taken.take('nothing'), ...script('null') }];
  }

  #approval(name: string, prompt: string, fields: SourceMap): JsonObject {
    const fallback = trimmedText(fields.kept('default', 'on_timeout'));
    const words = /\[([^\][]*\/[^\][]*)\]\s*$/
      .exec(prompt)?.[1]
      ?.split('/')
      .map((each) => each.trim()) ?? ['y', 'n'];
    const timeout = fields.kept('timeout_sec', 'timeout') ?? fields.kept('timeout');
    const answer = trimmedText(fields.changed('response_var', 'the choice of the step'));
    if (answer !== undefined) this.#variables.set(answer, `steps.${name}.output.choice`);
    const options = [...new Set([...words, ...(fallback === undefined ? [] : [fallback])])];
    return {
      type: 'approval',
      prompt,
      options,
      ...filled({ timeout, on_timeout: timeout === undefined ? undefined : fallback }),
    };
  }
}

/** What `$(…)` and `${…}` of Cortex name: the steps before, and variables such as the item of a loop. */
interface StepNames {
  /** Names of steps as they are now, by Cortex's. */
  readonly steps: ReadonlyMap<string, string>;
  /** Paths of answers and loop items, by Cortex's names. */
  readonly variables: ReadonlyMap<string, string>;
}

/** Where a reference stands, for the report. */
interface Where {
  readonly fields: SourceMap;
  readonly key: string;
}

const REFERENCE = /\$\(([^()]+)\)|\$\{([^{}]+)\}|\$(TIMESTAMP|WORKFLOW_ID)\b/g;

/** A text of a step as a template. What is missing is empty, as in Cortex. */
function toTemplate(text: string, names: StepNames, where: Where): string {
  const isWhole = new RegExp(`^(?:${REFERENCE.source})$`).test(text);
  return templateOf(text, REFERENCE, (found) => {
    const path = pathOf(found[1] ?? found[2] ?? found[3] ?? '', names, where);
    return path === undefined ? undefined : `\${${path} ?? ${isWhole ? 'null' : "''"}}`;
  });
}

/** A path of Cortex as one of ours; undefined, with a word in the report, if nothing corresponds to it. */
function pathOf(source: string, { steps, variables }: StepNames, where: Where): string | undefined {
  const parts = source.trim().split('.');
  const [head = '', ...rest] = parts;
  const join = (begin: string, end: readonly string[]) => [begin, ...end].join('.');
  if (head === 'TIMESTAMP') return 'run.started_at';
  if (head === 'WORKFLOW_ID') return 'run.id';
  if (head === 'input' || head === 'trigger') return join('input', rest);
  if (head === 'session_id' || head === 'workspace_path' || head === 'metadata') return join('agent', parts);
  const variable = variables.get(head);
  if (variable !== undefined) return join(variable, rest);
  const [id = '', ...inside] = head === 'steps' ? rest : parts;
  const step = steps.get(id);
  if (step === undefined) {
    where.fields.note(where.key, 'left', `${source} stays as it is written: no step before has that name`);
    return undefined;
  }
  const [first, ...more] = inside;
  if (first === 'success' && more.length === 0) return `steps.${step}.status`;
  // The whole result is what Cortex calls output or result.
  return join(`steps.${step}.output`, first === 'output' || first === 'result' ? more : inside);
}

const COMPARISON = /^(.+?)\s*(==|!=|>=|<=|>|<)\s*(.+)$/s;

/** A condition as CEL. A path that does not exist makes it false. */
function celOf(source: string, names: StepNames, where: Where): string {
  const [, left = source, operator, right = 'true'] = COMPARISON.exec(source.trim()) ?? [];
  const named = /^(?:\$[({](.+)[)}]|([A-Za-z_][\w.]*))$/s.exec(left.trim());
  const path = named === null ? undefined : pathOf(named[1] ?? named[2] ?? '', names, where);
  if (path === undefined) {
    where.fields.note(where.key, 'left', `the condition ${source} cannot be expressed, and never holds`);
    return 'false';
  }
  if (/^steps\.[\w-]+\.status$/.test(path))
    return `${path} ${(right.trim() === 'false') === (operator === '!=' || operator === undefined) ? '==' : '!='} 'completed'`;
  const parts = path.split('.');
  const known = parts[0] === 'steps' ? 3 : 1;
  const guards = parts.slice(known).map((_, index) => `has(${parts.slice(0, known + index + 1).join('.')})`);
  const test =
    operator === undefined ? `!(${path} in [null, false, 0, ''])` : `${path} ${operator} ${celValue(right)}`;
  return [...guards, test].join(' && ');
}

function celValue(text: string): string {
  const quoted = /^(['"])(.*)\1$/s.exec(text.trim())?.[2];
  const isPlain = /^(true|false|null|-?\d+(\.\d+)?)$/.test(text.trim());
  return isPlain ? text.trim() : JSON.stringify(quoted ?? text.trim());
}

/** The name of an event has no dot here. */
const eventName = (event: string): string => nameOf(event.replaceAll('.', '_'));

const script = (code: string) => ({ type: 'script', script: code });
const fails = (message: string) => script(`throw new Error(${JSON.stringify(message)});`);

function jsonOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    // Not JSON: one item, as it is written.
    return [plainText(text)];
  }
}

const RETURNED = [
  { name: 'returned', type: 'boolean', default: false },
  { name: 'result', type: 'object' },
];

function attemptsOf(policy: SourceMap): number {
  policy.changed('backoff', 'each pause is twice the one before');
  return Number(policy.kept('max_attempts', 'retry') ?? 1);
}

export function convertWorkflow(unit: Unit, context: Cortex): Converted {
  const { fields } = unit;
  const settings = fields.map('configuration');
  const attempts = attemptsOf(settings.map('default_retry_policy'));
  const onError = trimmedText(
    settings.map('error_handling').kept('on_step_failure', 'on_error of each step'),
  );
  settings.left('timeout', 'a time limit belongs to a step');
  settings.left('observability', 'the log has every step');
  const retry = attempts > 1 ? { max: attempts - 1, backoff: '1s' } : undefined;
  const steps = new Steps(unit, context, { retry, onError });
  const list = steps.list(fields.kept('steps'), ['steps']);
  const { trigger, input } = triggerOf(fields);
  const schema = fields.kept('input_schema', 'input');
  const where = { fields, key: 'outputs' };
  const sources = Object.entries(mapOf(fields.changed('outputs', 'the result of a last step')));
  const outputs = sources.map(([key, each]) => {
    fields.leaveOthers('outputs', each, 'source');
    const path = pathOf((trimmedText(mapOf(each).source) ?? '').replace(/^\$/, ''), steps.names, where);
    return [key, path === undefined ? null : `\${${path} ?? null}`] as const;
  });
  const last = { name: 'outputs', ...script('parameters'), parameters: Object.fromEntries(outputs) };
  fields.left('output_schema', 'the result of a workflow is not checked');
  fields.changed('auto_checkpoint', 'each step is on the log, and a run goes on from there');
  const imports = fields.map('import');
  for (const each of LISTS) context.resolve(each, imports, unit, steps.needs);
  context.needs.set(unit, steps.needs);
  const runtime = steps.returns ? RETURNED : [];
  const head = filled({
    input: schema === undefined ? input : cleanSchema(schema),
    context_variables: filled({ runtime }),
    trigger,
  });
  return { body: { ...head, steps: [...list, ...(outputs.length > 0 || list.length === 0 ? [last] : [])] } };
}

function triggerOf(fields: SourceMap) {
  const given = fields.map('trigger');
  const type = trimmedText(given.take('type'));
  const parameters = given.kept('parameters', 'input');
  const input = parameters === undefined ? undefined : schemaOf(parameters, fields);
  const schedule = trimmedText(given.kept('schedule', 'cron'));
  const event = trimmedText(given.kept('event', 'an event of type custom'));
  if (type === undefined) return { input };
  const isKnown = schedule !== undefined || event !== undefined || type === 'manual';
  given.either('type', isKnown, 'the trigger', `nothing corresponds to ${type}: started by hand`);
  if (schedule !== undefined) return { trigger: { type: 'schedule', cron: schedule }, input };
  if (event !== undefined)
    return { trigger: { type: 'event', event: 'custom', match: { name: eventName(event) } }, input };
  return { trigger: { type: 'manual' }, input };
}

/**
 * A manifest of metadata: its fields and its page become those of the agents that import it, and each hook a workflow
 * that they import.
 */
export function convertMetadata(unit: Unit, context: Cortex): Converted {
  const { fields, name } = unit;
  fields.kept('fields', 'metadata.fields of the agents that import it');
  const injection = fields.kept('injection', 'metadata.injection of the agents that import it');
  fields.leaveOthers('injection', injection, 'method template');
  fields.left('environment', 'settings of Cortex');
  const needs = new Needs();
  const dependencies = fields.map('dependencies');
  for (const list of LISTS) context.resolve(list, dependencies, unit, needs);
  const others: Record<string, JsonObject> = {};
  const hooks = listOf(fields.kept('metadata_hooks', 'a workflow for each hook'));
  for (const [index, each] of hooks.entries()) {
    const hook = mapOf(each);
    const id = nameOf(trimmedText(hook.id) ?? `hook-${index + 1}`);
    const path = ['metadata_hooks', index];
    const own = new SourceMap(hook, id, path, unit.report);
    own.kept('id', `workflow ${name}-${id}`);
    const purpose = trimmedText(own.kept('description'));
    const conditions = mapOf(own.map('when').kept('metadata', 'a trigger of type metadata_match'));
    const steps = new Steps(unit, context, { onError: 'continue' });
    const list = steps.list(own.kept('actions', 'steps; one that fails does not stop the others'), [
      ...path,
      'actions',
    ]);
    own.rest();
    needs.add(steps.needs);
    const out = `${unit.out.replace(/\.yml$/, '')}/${id}.yml`;
    needs.workflows.add(out);
    others[out] = {
      kind: 'Workflow',
      name: `${name}-${id}`,
      ...filled({ version: trimmedText(unit.value.version), description: purpose && plainText(purpose) }),
      trigger: { type: 'metadata_match', conditions },
      steps: list,
    };
  }
  context.needs.set(unit, needs);
  return { others };
}

/** `metadata` of an agent: what all the manifests that it imports declare. */
export function metadataOf(units: readonly Unit[]): JsonObject {
  const fields: Record<string, Json> = {};
  const injection: Record<string, Json> = {};
  for (const { value } of units) {
    Object.assign(fields, mapOf(value.fields));
    const { method, template } = mapOf(value.injection);
    if (method !== undefined) injection.method = method;
    // `{status}` of a page is the value of the field.
    const put = (braces: string, name: string) => (name in fields ? `{values.${name}}` : braces);
    if (template !== undefined) injection.template = plainText(String(template)).replace(/\{(\w+)\}/g, put);
  }
  return filled({ fields, injection });
}
