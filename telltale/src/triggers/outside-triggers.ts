import type { WorkflowManifest } from '../manifest/schema/kinds.ts';
import { type TriggerManifest, triggersOf } from './compile-triggers.ts';

/** Time comes again and again. `everyMs` is counted from when the schedule was first kept. */
export type TriggerSchedule =
  | { readonly cron: string; readonly timezone: string }
  | { readonly everyMs: number };

/** None is made up for; one run stands for all; each has a run. */
export type MissedPolicy = 'skip' | 'once' | 'all';

/** How a sender of hooks signs. */
export type HookSignature = 'standard' | 'github';

interface Outside {
  /** `WORKFLOW#0`. */
  readonly id: string;
  readonly workflow: string;
  readonly pacing: {
    readonly debounceMs?: number | undefined;
    readonly cooldownMs?: number | undefined;
    readonly delayMs?: number | undefined;
    readonly concurrency?:
      | { readonly max: number; readonly when_busy: 'skip' | 'queue' | 'replace' }
      | undefined;
  };
}

/** What starts a workflow from outside of any session: no session watches for it. */
export type OutsideTrigger =
  | (Outside & {
      readonly type: 'schedule';
      readonly schedule: TriggerSchedule;
      /** What becomes of times at which nobody ran. */
      readonly missed: MissedPolicy;
    })
  | (Outside & {
      readonly type: 'webhook';
      /** The name after `/hooks/`. */
      readonly hook: string;
      readonly secret: string;
      readonly signature: HookSignature;
    })
  | (Outside & { readonly type: 'manual' });

/** For whoever places schedules, serves hooks and lists what can be started by hand. */
export const outsideTriggers = (workflows: readonly WorkflowManifest[]): readonly OutsideTrigger[] =>
  workflows.flatMap((workflow) =>
    triggersOf(workflow).flatMap(({ id, manifest }) => outsideTrigger(workflow.name, id, manifest) ?? []),
  );

function outsideTrigger(workflow: string, id: string, manifest: TriggerManifest): OutsideTrigger | undefined {
  const { concurrency } = manifest;
  const paced = manifest.type === 'manual' ? {} : pacingOf(manifest);
  const of = { id, workflow, pacing: { ...paced, concurrency } };
  switch (manifest.type) {
    case 'schedule': {
      const { cron, every, timezone, missed } = manifest;
      const schedule = cron === undefined ? { everyMs: every?.ms ?? 0 } : { cron, timezone };
      return { ...of, type: 'schedule', schedule, missed };
    }
    case 'webhook': {
      const { hook = workflow, secret, signature } = manifest;
      return { ...of, type: 'webhook', hook, secret, signature };
    }
    case 'manual':
      return { ...of, type: 'manual' };
    case 'metadata_match':
    case 'variable_match':
    case 'event':
      return undefined;
  }
}

const pacingOf = ({ debounce, cooldown, delay }: Exclude<TriggerManifest, { readonly type: 'manual' }>) => ({
  debounceMs: debounce?.ms,
  cooldownMs: cooldown?.ms,
  delayMs: delay?.ms,
});
