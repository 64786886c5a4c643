import type { SessionSummary } from '../../../../telltale/src/log/session-summary.ts';

export interface SessionRow {
  readonly session: SessionSummary;
  /** 0 if nobody called it, 1 below its caller, and so on. */
  readonly depth: number;
  /** How many of its sub-agents are known here. */
  readonly children: number;
}

export interface RowChoice {
  readonly search: string;
  readonly subAgents: boolean;
}

/** How many levels are indented. */
const MAX_DEPTH = 5;

/** The rows of the list: sub-agents below their callers, or omitted, and only those that contain every search word. */
export function sessionRows(sessions: readonly SessionSummary[], choice: RowChoice): readonly SessionRow[] {
  const words = choice.search.toLowerCase().split(/\s+/).filter(Boolean);
  const byParent = new Map<string, SessionSummary[]>();
  for (const session of sessions)
    if (session.parent !== undefined) {
      const siblings = byParent.get(session.parent);
      if (siblings === undefined) byParent.set(session.parent, [session]);
      else siblings.push(session);
    }
  const known = new Set(sessions.map(({ id }) => id));
  const rows: SessionRow[] = [];
  const add = (session: SessionSummary, depth: number) => {
    const called = byParent.get(session.id) ?? [];
    if (words.length === 0 || holds(session, words)) rows.push({ session, depth, children: called.length });
    if (!choice.subAgents || depth >= MAX_DEPTH) return;
    // Called sessions are in the order of the calls.
    for (const child of called.toReversed()) add(child, depth + 1);
  };
  for (const session of sessions) {
    if (session.parent === undefined) add(session, 0);
    // Its caller is on no page that was read, so it gets a row of its own.
    else if (choice.subAgents && !known.has(session.parent)) add(session, 0);
  }
  return rows;
}

function holds({ id, agent, title, model, metadata, result }: SessionSummary, words: readonly string[]) {
  const text = `${id} ${agent} ${title} ${model} ${JSON.stringify(metadata)} ${result ?? ''}`.toLowerCase();
  return words.every((word) => text.includes(word));
}
