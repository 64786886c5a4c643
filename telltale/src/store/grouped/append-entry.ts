import type { RuntimeError } from '../../kernel/runtime-error.ts';
import type { EncodedWrite } from './messages.ts';
import type { WriterState } from './writer-state.ts';

/** Appends of one writer that are written as one row. */
export interface AppendEntry {
  readonly kind: 'append';
  readonly writer: WriterState;
  readonly expectedSeq: number;
  count: number;
  body: string;
  status: string | null;
  due: number | null;
  consumed: readonly number[] | null;
  readonly writes: readonly EncodedWrite[] | null;
  error: RuntimeError | undefined;
}
