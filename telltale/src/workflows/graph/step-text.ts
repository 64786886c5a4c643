import type { Step } from '../../manifest/schema/steps/step.ts';
import type { Invocation } from '../../targets/artifacts/invoker.ts';
import type { Test } from '../decisions.ts';

type Verifier = NonNullable<Extract<Step, { readonly type: 'task' }>['verify']>;

/** Conditions that are no expressions. */
const BY_NAME: ReadonlySet<string> = new Set(['previous_steps_success', 'always', 'on_failure']);

/** A test in a few words: CEL as it is written, or which artifact is asked. */
export function testText(test: Test | Invocation): string {
  if (typeof test !== 'object') return String(test);
  return `${test.invoke}.${test.method}(${test.args.map((arg) => JSON.stringify(arg)).join(', ')})`;
}

/** What a step does and under which conditions, a line each. */
export function stepLines(step: Step): readonly string[] {
  return [...kindLine(step), ...commonLines(step)];
}

/** What holds for every step, also for one with steps inside. */
function commonLines(step: Step): readonly string[] {
  const { if: held, condition, timeout, retry, on_error, compensate } = step;
  const lines: string[] = [];
  if (held !== undefined) lines.push(`if ${testText(held)}`);
  if (condition !== undefined)
    lines.push(
      typeof condition === 'string' && BY_NAME.has(condition) ? condition : `if ${testText(condition)}`,
    );
  const bounds = [
    ...(timeout === undefined || step.type === 'approval' ? [] : [`timeout ${durationText(timeout.ms)}`]),
    ...(retry === undefined || retry.max === 0 ? [] : [`retry ${retry.max}`]),
  ];
  if (bounds.length > 0) lines.push(bounds.join(', '));
  if (on_error === 'continue') lines.push('goes on if it fails');
  if (compensate !== undefined) lines.push(`undone by ${compensate.type} ${compensate.target}`);
  return lines;
}

function verifierText(verify: Verifier): string {
  if ('command' in verify) return verify.command.join(' ');
  return 'invoke' in verify ? verify.invoke : (verify.model ?? 'a model');
}

function kindLine(step: Step): readonly string[] {
  switch (step.type) {
    case 'tool':
    case 'relic':
    case 'agent':
    case 'workflow':
      return [`${step.type} ${step.target}`];
    case 'llm':
      return [step.target === undefined ? 'llm' : `llm ${step.target}`];
    case 'task':
    case 'plan':
      return [
        step.agent === undefined ? step.type : `${step.type} by ${step.agent}`,
        ...(step.type === 'task' && step.confirm !== undefined ? ['asks a person first'] : []),
        ...(step.type === 'plan' && step.approval === 'always' ? ['asks a person: approve / reject'] : []),
        ...(step.verify === undefined ? [] : [`verified by ${verifierText(step.verify)}`]),
      ];
    case 'script':
      return ['command' in step ? `runs ${step.command.join(' ')}` : 'script'];
    case 'transition':
      return 'transition_source' in step
        ? [`${testText(step.transition_source)} names the next state`]
        : ['a model chooses the next state'];
    case 'set_metadata':
    case 'set_variable':
      return [
        `${step.type} ${typeof step.values === 'string' ? step.values : Object.keys(step.values).join(', ')}`,
      ];
    case 'notify':
      return [step.to === undefined ? 'notify' : `notify ${step.to}`];
    case 'emit':
      return [`emit ${step.event}`];
    case 'approval': {
      const who = step.assignee === undefined ? 'a person' : step.assignee;
      const until = step.timeout === undefined ? '' : `, ${durationText(step.timeout.ms)} at most`;
      return [`asks ${who}: ${step.options.join(' / ')}${until}`];
    }
    case 'wait':
      if ('for' in step)
        return [`waits ${typeof step.for === 'string' ? step.for : durationText(step.for.ms)}`];
      return ['until' in step ? `waits until ${step.until}` : `waits for ${step.event}`];
    case 'parallel':
    case 'race': {
      const most = step.max_parallel === undefined ? '' : `, ${step.max_parallel} at a time`;
      return [`${step.type === 'parallel' ? 'all of them' : 'the first to succeed'}${most}`];
    }
    case 'foreach': {
      const items = typeof step.in === 'string' ? step.in : `${step.in.length} items`;
      const most = step.max_parallel === undefined ? '' : `, ${step.max_parallel} at a time`;
      return [`each ${step.as} in ${items}${most}`];
    }
    case 'loop':
      return [`${step.max} times at most`];
    case 'switch':
      return ['the first case that holds'];
    case 'try':
      return ['try'];
  }
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** As manifests write it: `90s`, `5m`, `250ms`. */
function durationText(ms: number): string {
  const unit = UNITS.find(([, length]) => ms % length === 0);
  return unit === undefined ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`;
}
