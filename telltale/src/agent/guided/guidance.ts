import { type ErrorJson, RuntimeError } from '../../lib/errors.ts';
import type { Json } from '../../lib/json.ts';
import type { Cause } from '../../log/event.ts';
import type { SessionState } from '../../log/state.ts';
import type { AgentManifest } from '../../manifest/schema/kinds.ts';
import type { Task, TaskReply, TaskReport } from '../../workflows/guided/task.ts';
import type { GuidingWorkflow } from '../hooks/hook-types.ts';
import type { Stop } from '../stop.ts';

/** Where a led session stands while it waits for its run. */
export type GuidanceStanding =
  | { readonly kind: 'idle' }
  /** It was resumed with this task in hand, and does not know whether the run still wants it done. */
  | { readonly kind: 'resumed'; readonly task: string }
  | {
      readonly kind: 'report';
      readonly task: string;
      readonly report: TaskReport;
      /** What the session has used so far, in all. */
      readonly used: Used;
    }
  /** It has come to an end of its own, and nothing more can be given to it. */
  | { readonly kind: 'ended'; readonly session: string; readonly error: ErrorJson }
  /** This process released it because it waits for people. Whoever resumes it opens a new lead. */
  | { readonly kind: 'released' };

/** What a run has its session do next. */
export type Order =
  /** `cause`: the step of the run that it stands for. */
  | { readonly kind: 'task'; readonly task: Task; readonly cause: Cause }
  /** The task that it was resumed with is still wanted. */
  | { readonly kind: 'go_on' }
  | { readonly kind: 'word'; readonly task: string; readonly nth: number; readonly word: TaskReply }
  /** The run waits: so does the session, and this process lets go of it. */
  | { readonly kind: 'park'; readonly for: string }
  | { readonly kind: 'over'; readonly end: GuidanceEnd };

export interface Used {
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly estimated?: true;
  readonly cost_usd: number;
}

/** How the run ended, and the session with it. */
export type GuidanceEnd =
  | { readonly kind: 'completed'; readonly output: Json; readonly cause?: Cause | undefined }
  | { readonly kind: 'failed'; readonly error: ErrorJson; readonly cause?: Cause | undefined }
  | { readonly kind: 'cancelled'; readonly reason: string };

/**
 * Where a run and the session that it leads meet, in one process. They take turns: the session says where it stands and
 * waits, the run gives an order. Nothing in here matters after a restart: both logs say where they stood.
 */
export interface Guidance {
  /** Whose hooks count for the session beside its agent's, where the session cannot know. */
  readonly by: GuidingWorkflow | undefined;
  /** The session's side. Undefined once the session is stopped. */
  wait(standing: GuidanceStanding, stop: Stop): Promise<Order | undefined>;
  /** Whether the run has taken back a task that the session may still work on. */
  isWithdrawn(task: string): boolean;
  /** The session has ended, or this process lets go of it. */
  close(session: string, error: ErrorJson): void;
  /** This process releases the session while it waits for people. */
  release(): void;
  /** The run's side: resolves when the session waits, or has ended. Rejects with the signal's reason. */
  standing(signal: AbortSignal): Promise<GuidanceStanding>;
  isWaiting(): boolean;
  /** False where the session does not wait: then it is not taken. */
  order(order: Order): boolean;
  withdraw(task: string): void;
  /** The run has nothing to do: neither has the session once it waits, unless the run goes on before. */
  park(what: string): void;
  unpark(): void;
  /** Ends it whenever it waits next. */
  end(end: GuidanceEnd): void;
}

export function createGuidance(by?: GuidingWorkflow): Guidance {
  let at: GuidanceStanding | undefined;
  let give: ((order: Order) => void) | undefined;
  let over: GuidanceEnd | undefined;
  let parkedFor: string | undefined;
  const withdrawn = new Set<string>();
  const waiting = new Set<(standing: GuidanceStanding) => void>();

  const stand = (standing: GuidanceStanding) => {
    at = standing;
    for (const then of [...waiting]) then(standing);
    waiting.clear();
  };
  const order = (given: Order) => {
    const tell = give;
    if (tell === undefined) return false;
    at = undefined;
    give = undefined;
    tell(given);
    return true;
  };
  return {
    by,
    async wait(standing, stop) {
      if (over !== undefined) return { kind: 'over', end: over };
      if (parkedFor !== undefined) return { kind: 'park', for: parkedFor };
      let given: Order | undefined;
      await stop.until((done) => {
        give = (made) => {
          given = made;
          done();
        };
        stand(standing);
        return undefined;
      });
      return stop.reason === undefined ? given : undefined;
    },
    isWithdrawn: (task) => withdrawn.has(task),
    close(session, error) {
      give = undefined;
      stand({ kind: 'ended', session, error });
    },
    release() {
      give = undefined;
      stand({ kind: 'released' });
    },
    standing(signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      if (at !== undefined) return Promise.resolve(at);
      return new Promise((resolve, reject) => {
        const leave = () => {
          waiting.delete(then);
          reject(signal.reason);
        };
        const then = (standing: GuidanceStanding) => {
          signal.removeEventListener('abort', leave);
          resolve(standing);
        };
        waiting.add(then);
        signal.addEventListener('abort', leave, { once: true });
      });
    },
    isWaiting: () => give !== undefined,
    order,
    withdraw: (task) => void withdrawn.add(task),
    park(what) {
      if (!order({ kind: 'park', for: what })) parkedFor = what;
    },
    unpark() {
      parkedFor = undefined;
    },
    end(end) {
      over = end;
      order({ kind: 'over', end });
    },
  };
}

/** The run that leads a session whose agent has a workflow of its own. No action of the session has such an id. */
export const leadRun = (session: string): string => `${session}~lead`;

/** What a run waits for that was taken up without the session that it leads. */
export const forSession = (session: string): string => `its session ${session}`;

/** How a led session ends with its run; `cause` is where the run's own end stands. */
export type GuidedEnd =
  | { readonly kind: 'completed'; readonly result: Json; readonly cause?: Cause | undefined }
  | { readonly kind: 'failed'; readonly error: RuntimeError; readonly cause?: Cause | undefined }
  | { readonly kind: 'stopped' };

/** What leads a session from task to task. */
export interface Guide {
  /** Before a turn: waits for the run where there is nothing to do. Undefined where there is: a turn may begin. */
  before(): Promise<GuidedEnd | undefined> | undefined;
  /** After a turn whose actions were waited for: notices that the agent does not come further. */
  after(): void;
}

/**
 * What a session results in that ends with its run: the run's output where the agent says what it results in; else the
 * last thing it told the user in its last turn, or the notes of its last step.
 */
export function guidedResult(state: SessionState, manifest: AgentManifest, output: Json): Json {
  if (manifest.output !== undefined) return output;
  const { response, turn, task } = state;
  if (response !== undefined && response.turn === turn) return response.text;
  return task?.open?.kind === 'claimed' ? task.open.notes : output;
}

export const ledElsewhere = ({ id, parent }: SessionState) =>
  new RuntimeError('session_led', `${id} is led by a run and cannot continue without it.`, {
    hint:
      parent === undefined
        ? 'Start the workflow again.'
        : `Resume the run: telltale workflow resume ${parent.session}`,
  });
