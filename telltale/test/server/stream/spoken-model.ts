import type { Model, ModelSink } from '../../../src/models/model.ts';
import { modelCancelled } from '../../../src/models/model-errors.ts';

/** A model that says what a test has it say, when it has it say so. */
export interface SpokenModel extends Model {
  /** Resolves once it is asked, and then says it. */
  say(text: string): Promise<void>;
  /** Ends the turn in hand. */
  stop(): Promise<void>;
}

export function createSpokenModel(): SpokenModel {
  let turn: { readonly sink: ModelSink; readonly end: () => void } | undefined;
  let asked: (() => void)[] = [];
  const inHand = async () => {
    while (turn === undefined) await new Promise<void>((resolve) => asked.push(resolve));
    return turn;
  };
  return {
    id: 'spoken',
    stream: ({ signal }, sink) =>
      new Promise((resolve, reject) => {
        const end = () => {
          turn = undefined;
          resolve({ finish: 'stop', usage: { input: 1, output: 1 } });
        };
        signal.addEventListener('abort', () => {
          turn = undefined;
          reject(modelCancelled('spoken'));
        });
        turn = { sink, end };
        for (const wake of asked) wake();
        asked = [];
      }),
    async say(text) {
      (await inHand()).sink.text(text);
    },
    async stop() {
      (await inHand()).end();
    },
  };
}
