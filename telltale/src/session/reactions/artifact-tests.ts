import type { Cause } from '../../events/event.ts';
import type { InvokeRecord } from '../../kernel/invoke-record.ts';
import type { SessionTrigger } from '../../triggers/compile-triggers.ts';
import { MAX_CHAIN } from '../../triggers/pacing.ts';
import type { SessionLog } from '../session-log.ts';
import type { Chains } from './chains.ts';
import type { Found } from './field-mirror.ts';
import type { Firings } from './firings.ts';
import { MAX_QUESTIONS, type Questions } from './questions.ts';

/** The event that set something off, for what follows from it. */
export interface Origin {
  readonly cause: Cause;
  /** The workflows that led to it. */
  readonly chain: readonly string[];
  /** Whether it says of another firing that it was suppressed. */
  readonly isEcho: boolean;
}

/** Why an artifact is asked: an update, a restart (its last answer may be lost), or values taken over from others. */
export type Asking = 'update' | 'restart' | 'taken over';

export interface ArtifactTestDeps {
  readonly log: Pick<SessionLog, 'state' | 'append'>;
  readonly questions: Questions;
  readonly chains: Chains;
  readonly firings: Pick<Firings, 'suppress'>;
  readonly setOff: (found: Found, origin: Origin) => void;
}

/** Tests of triggers that artifacts decide: the answer is put on the log before it counts. */
export interface ArtifactTests {
  ask(found: Found, origin: Origin, asking: Asking): void;
  /** What was answered last. */
  held(trigger: SessionTrigger): boolean;
}

export function createArtifactTests({
  log,
  questions,
  chains,
  firings,
  setOff,
}: ArtifactTestDeps): ArtifactTests {
  const { state } = log;
  const held = ({ id }: SessionTrigger) =>
    state.triggers.find(({ trigger }) => trigger === id)?.held === true;
  const charge = ({ cost }: InvokeRecord, cause: Cause) => {
    if (cost === 0 || state.balance === undefined) return;
    log.append(
      { type: 'budget.charged', what: 'artifact', amount: cost, balance: state.balance - cost },
      cause,
    );
  };
  return {
    held,
    ask(found, origin, asking) {
      const { trigger } = found;
      const chain = [...origin.chain, trigger.workflow];
      // Whose question sets off the next one would be asked for ever.
      if (trigger.fire === undefined && chain.length > MAX_CHAIN) {
        setOff(found, origin);
        return;
      }
      const isAsked = questions.ask(trigger, (record) => {
        const was = held(trigger);
        chains.note(state.seq + 1, chain);
        const cause = log.append({ type: 'invoke', ...record }, origin.cause);
        charge(record, cause);
        const as = answered(trigger, was, record.result === true, asking);
        if (as === undefined) return;
        const seen = as === null ? found.seen : { ...found.seen, as };
        setOff({ trigger, as, seen }, { ...origin, cause });
      });
      if (!isAsked)
        firings.suppress(
          trigger,
          'busy',
          `${MAX_QUESTIONS} questions to artifacts are open already.`,
          origin,
        );
    },
  };
}

/** What an answer makes a trigger do: null for one on events; undefined for nothing. */
function answered(
  { fire, cancelsOnExit }: SessionTrigger,
  was: boolean,
  is: boolean,
  asking: Asking,
): Found['as'] | undefined {
  if (fire === undefined) return is ? null : undefined;
  if (was && !is && cancelsOnExit) return 'exit';
  if (asking === 'taken over') return undefined;
  if (was && !is) return fire === 'on_exit' ? 'exit' : undefined;
  if (is && !was) return fire === 'on_exit' ? undefined : 'enter';
  return is && asking === 'update' && (fire === 'on_update' || fire === 'on_change') ? 'stay' : undefined;
}
