import type { Json } from '../kernel/json.ts';

/** What is shown as it comes and never written: no seq, and lost if nobody looks. */
export type LiveEvent =
  | {
      readonly type: 'thought.delta';
      readonly session: string;
      readonly turn: number;
      readonly depth: number;
      readonly text: string;
    }
  | {
      readonly type: 'response.delta';
      readonly session: string;
      readonly turn: number;
      readonly text: string;
      /** Whether its opening tag means it to be the final one; what becomes of it is decided once all of it is there. */
      readonly final?: boolean;
    }
  | {
      readonly type: 'action.progress';
      readonly session: string;
      readonly turn: number;
      readonly id: string;
      readonly data: Json;
    };
