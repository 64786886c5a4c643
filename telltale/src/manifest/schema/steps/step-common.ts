import { z } from 'zod';
import { choice } from '../choice.ts';
import { closed, type Slips } from '../closed.ts';
import { test } from '../decision.ts';
import { finding } from '../finding.ts';
import { hooks } from '../hooks.ts';
import { isMap } from '../is-map.ts';
import { jsonObject } from '../json-value.ts';
import { name, targetName, text } from '../names.ts';
import { countFromZero } from '../numbers.ts';
import { once } from '../once.ts';
import { positiveDuration } from '../quantities.ts';
import { showValue } from '../show-value.ts';

/** Words of `condition` that are not CEL. */
export const STEP_CONDITIONS = ['previous_steps_success', 'always', 'on_failure'] as const;

export type StepErrorPolicy = 'fail' | 'continue' | { readonly goto: string };

const ON_ERROR = /^(?:fail|continue|goto +[A-Za-z_][A-Za-z0-9_-]*)$/;

const CALL_TYPES = ['tool', 'relic', 'agent', 'llm', 'workflow'] as const;

export const STEP_SLIPS: Slips = {
  depends_on: 'Steps use "needs".',
  dependsOn: 'Steps use "needs".',
  after: 'Steps use "needs".',
  id: 'A step is named by "name".',
  when: 'Use "if" (CEL) or "condition".',
  uses: 'Use "type" and "target" to name what is called.',
  tool: 'Write "type: tool" and "target: NAME".',
  relic: 'Write "type: relic" and "target: NAME".',
  timeout_seconds: 'Use "timeout": a bare number is seconds.',
  timeout_minutes: 'Use "timeout": write 5m.',
  retries: 'Use "retry: { max, backoff }".',
  max_retries: 'Use "retry: { max, backoff }".',
  continue_on_error: 'Use "on_error: continue".',
  'continue-on-error': 'Use "on_error: continue".',
  output: `Read the result of a step as \${steps.NAME.output}. "output_key" also stores it.`,
  outputs: `Read the result of a step as \${steps.NAME.output}. "output_key" also stores it.`,
  save_as: 'Use "output_key".',
  rollback: 'Use "compensate" for what undoes a step.',
  next: 'Steps run in the order of the list, or by "needs". To jump after a failure, use "on_error: goto NAME".',
  transitions: 'Transitions belong to a state.',
  inject_into: 'Use "inject_into" in a component. Components are next to "steps".',
};

/** Of the steps that have "parameters". */
export const PARAMETER_SLIPS: Slips = {
  params: 'Use "parameters".',
  args: 'Use "parameters".',
  with: 'Use "parameters".',
  input: 'Use "parameters".',
  inputs: 'Use "parameters".',
};

/** What every step takes. */
export const stepKeys = once(() => {
  const onError = z
    .string()
    .meta({ pattern: ON_ERROR.source, expects: '"fail", "continue" or "goto STEP"' })
    .transform((value, ctx): StepErrorPolicy => {
      if (value === 'fail' || value === 'continue') return value;
      if (ON_ERROR.test(value)) return { goto: value.replace(/^goto +/, '') };
      const hint = 'Allowed: fail, continue, goto STEP.';
      const found = finding(value, {
        code: 'not_allowed',
        message: `"on_error" cannot be ${showValue(value)}.`,
        hint,
      });
      ctx.issues.push(found as z.core.$ZodRawIssue<z.core.$ZodIssueCustom>);
      return z.NEVER;
    })
    .meta({
      description: 'When the step fails: fail the run, go on, or go to another step of the same list.',
    });

  const tries = countFromZero('Further tries after a failure.');
  const retryMap = closed(
    {
      title: '"retry"',
      slips: {
        attempts: 'Use "max".',
        times: 'Use "max".',
        count: 'Use "max".',
        delay: 'Use "backoff".',
      },
    },
    { max: tries, backoff: positiveDuration('The first pause; it doubles each time.').prefault('250ms') },
  );
  const retryCount = tries.transform((max) => ({ max, backoff: { ms: 250 } }));
  const retry = choice([retryMap, retryCount], (value) => (isMap(value) ? retryMap : retryCount)).describe(
    'Further tries: { max, backoff }, or just the number.',
  );

  const compensation = closed(
    {
      title: 'a compensation',
      id: 'StepCompensation',
      description: 'A call that undoes the step when the run rolls back.',
      slips: { name: 'Use "target".', params: 'Use "parameters".' },
    },
    {
      type: z.enum(CALL_TYPES).default('tool').describe('What is called.'),
      target: targetName('Its name.'),
      parameters: jsonObject('Its parameters.').prefault({}),
      timeout: positiveDuration('Time for each try.').optional(),
    },
  );

  return {
    name: name('The name of the step, unique in the workflow.'),
    description: text('What it is for.').optional(),
    if: test('Whether it runs at all: CEL or an invocation.').optional(),
    condition: test('previous_steps_success, always, on_failure, CEL, or an invocation.').optional(),
    needs: z
      .array(name('A step of the same list.'))
      .optional()
      .describe('Steps that come first; with it the list is a graph.'),
    timeout: positiveDuration('Time for each try.').optional(),
    retry: retry.optional(),
    on_error: onError.optional(),
    output_key: name('Also store the result under this name.').optional(),
    compensate: compensation.optional(),
    hooks: hooks.optional(),
  };
});
