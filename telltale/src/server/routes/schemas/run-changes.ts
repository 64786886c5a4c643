import { z } from '@hono/zod-openapi';
import type { AcceptChanges, StepChange, WorkflowChanges } from '../../../events/run-changes.ts';
import { answered, json, part, text } from './wire.ts';

const decision = z.enum(['rerun', 'skip', 'fail']);
const stepStatus = z.enum([
  ...(['running', 'retrying', 'completed', 'failed'] as const),
  ...(['skipped', 'cancelled', 'interrupted', 'compensated'] as const),
]);

export const workflowChanges = answered<WorkflowChanges>('WorkflowChanges', {
  run: text,
  workflow: text,
  manifest: text,
  changed: z.boolean().openapi({ description: 'Whether it is another than the run is pinned to.' }),
  steps: z.array(
    part<StepChange>({
      step: text,
      change: z.enum(['kept', 'new', 'gone', 'in_doubt']),
      status: stepStatus.optional(),
      now: text.optional().openapi({ description: 'The step that takes its place.' }),
      outcome: text.openapi({ description: 'What happens to it.' }),
      choices: z.array(decision).optional(),
      decided: decision.optional(),
      passed: z.literal(true).optional().openapi({ description: 'Only `run_new` has it run.' }),
    }),
  ),
  undecided: z.array(text).openapi({ description: 'Steps in doubt that nobody has decided about.' }),
});

export const acceptChanges = z.union([
  z.boolean(),
  z.strictObject({
    decide: z
      .record(text, z.union([decision, z.strictObject({ skip: json })]))
      .optional()
      .openapi({ description: 'What becomes of each step in doubt.' }),
    run_new: z
      .array(text)
      .optional()
      .openapi({ description: 'New steps that run although their place has passed.' }),
  }),
]) as unknown as z.ZodType<AcceptChanges>;
