import type { SessionState } from '../../events/state.ts';
import { usageOf } from '../../events/usage-of.ts';
import type { Json } from '../../kernel/json.ts';
import type { StreamInfo } from '../../store/store.ts';
import { feedJson } from './feed-lines.ts';
import { timeText } from './figures.ts';
import { quarantineJson, type ShownQuarantine, shownStatus } from './status.ts';

/** A session's state for a script: what stays the same from version to version of the runtime. */
export function stateJson(
  state: SessionState,
  {
    status,
    pid,
    quarantine,
    runs = [],
  }: {
    readonly status: string;
    readonly pid?: number | undefined;
    readonly quarantine?: ShownQuarantine | undefined;
    /** Those that it set off or called. */
    readonly runs?: readonly StreamInfo[];
  },
) {
  return {
    session: state.id,
    agent: state.agent,
    manifest: state.manifest,
    model: state.model,
    status,
    pid: pid ?? null,
    ...quarantineJson(quarantine),
    parent: state.parent ?? null,
    input: state.input,
    started: timeText(state.startedAt),
    updated: timeText(state.at),
    seq: state.seq,
    turn: state.turn,
    turns: state.totals.turns,
    usage: usageOf(state.totals),
    cost_usd: state.totals.cost_usd,
    balance: state.balance ?? null,
    metadata: state.metadata,
    variables: Object.fromEntries(state.variables),
    feeds: [...state.feeds.values()].map(feedJson),
    feeds_off: state.off,
    actions: [...state.actions.values()],
    task: state.task === undefined ? null : { ...state.task.given, report: state.task.open ?? null },
    runs: runs.map((run) => ({ run: run.stream, workflow: run.name, status: shownStatus(run) })),
    response: state.response ?? null,
    result: state.result ?? (null as Json),
    error: state.error ?? null,
  };
}
