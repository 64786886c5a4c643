import type { Script } from './scenario.ts';

/** What one session gave its reader; compared with what the script says, so that nobody can leave work out. */
export interface SessionOutcome {
  /** Characters of the model's text that came out as deltas. */
  readonly characters: number;
}

/** An agent with one tool and a fake model, ready to run. */
export interface OpenAgent {
  session(): Promise<SessionOutcome>;
  /** How often the tool ran. */
  calls(): number;
  close(): Promise<void>;
}

/** One runtime, measured in a process of its own. */
export interface AgentContestant {
  readonly name: string;
  /** `folder` is empty and may be written to. */
  open(script: Script, folder: string): Promise<OpenAgent>;
}
