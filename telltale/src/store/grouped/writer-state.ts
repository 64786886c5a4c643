import type { RuntimeError } from '../../lib/errors.ts';
import { streamMoved } from '../store-errors.ts';
import type { EncodedWrite, Taken } from './messages.ts';

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

/** The first events of a stream that is to be made, or why they cannot be written, and it is not to be made. */
export interface Making {
  first: AppendEntry | undefined;
  failure: RuntimeError | undefined;
}

/**
 * Where a writer stands. A refusal (somebody else writes the stream) is for good. After a failure (a full disk), what
 * was built on the failed append fails alike, and an append that goes on from the last committed event may pass.
 */
export interface WriterState {
  readonly stream: string;
  /** While the stream is to be made and that is not sent: what goes with it. */
  making: Making | undefined;
  /** Of a stream that is on its way: until then it has no number. */
  made: Promise<void> | undefined;
  /** 0 while the stream is not made, -1 - N while the write at place N of the group on its way makes it. */
  id: number;
  readonly epoch: number;
  /** The seq of the last event that is committed, sent to the thread, queued. */
  committed: number;
  sent: number;
  queued: number;
  failure: RuntimeError | undefined;
  refusal: RuntimeError | undefined;
  /** Its newest append that is gathered and not sent: the next may become part of it. */
  open: AppendEntry | undefined;
  /** Once it is being given up. */
  released: boolean;
  releasing: Promise<void> | undefined;
}

export function createWriterState(stream: string, { id, epoch, head }: Taken): WriterState {
  const [committed, sent, queued] = [head, head, head];
  return {
    stream,
    id,
    epoch,
    committed,
    sent,
    queued,
    making: undefined,
    made: undefined,
    failure: undefined,
    refusal: undefined,
    open: undefined,
    released: false,
    releasing: undefined,
  };
}

/** Of a stream that is to be made: its first epoch, and no events. */
export const newWriterState = (stream: string): WriterState =>
  createWriterState(stream, { id: 0, epoch: 1, head: 0 });

/** Why an append cannot be queued or sent that expects `expectedSeq` where the writer is at `at`. */
export function whyNot(writer: WriterState, expectedSeq: number, at: number): RuntimeError | undefined {
  if (writer.refusal !== undefined) return writer.refusal;
  if (expectedSeq === at) return undefined;
  if (writer.failure !== undefined) return writer.failure;
  writer.refusal = streamMoved(writer.stream, expectedSeq, at);
  return writer.refusal;
}

/** Notes that an append did not get through. */
export function noteFailure(writer: WriterState, error: RuntimeError): void {
  if (error.code === 'stream_moved' || error.code === 'stream_lost') writer.refusal = error;
  else writer.failure = error;
  writer.sent = writer.committed;
  writer.queued = writer.committed;
}
