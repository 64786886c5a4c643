import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Typing } from '../io.ts';

export interface ReadTyping {
  readonly input: NodeJS.ReadStream;
  /** What was typed before, newest first; each line is added to it. */
  readonly history: string[];
  readonly signal: AbortSignal;
  /** Ctrl-C. */
  readonly onInterrupt: () => void;
}

const MAX_HISTORY = 200;

/**
 * Lines that a person types while something else is drawn on the terminal: they are edited as in `readMessage`, and
 * whoever draws shows the line in hand. Lines that come in one go were pasted: they are one. Resolves when `signal` is
 * aborted, or at Ctrl-D.
 */
export function readTyping(options: ReadTyping, typing: Typing): Promise<void> {
  const { input, history, signal, onInterrupt } = options;
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
    const editor = createInterface({
      input,
      output: unseen,
      prompt: '',
      history: [...history],
      historySize: MAX_HISTORY,
      removeHistoryDuplicates: true,
      terminal: true,
    });
    let pasted: string[] = [];
    const send = () => {
      const text = pasted.join('\n');
      pasted = [];
      typing.draft(editor.line);
      if (text.trim() === '') return;
      if (history[0] !== text) history.unshift(text);
      history.length = Math.min(history.length, MAX_HISTORY);
      typing.line(text);
    };
    // Behind the editor's own listener, which has changed the line by then.
    const onKey = () => typing.draft([...pasted, editor.line].join(' '));
    const stop = () => editor.close();
    editor.on('line', (line) => {
      pasted.push(line);
      if (pasted.length === 1) setImmediate(send);
    });
    editor.on('SIGINT', onInterrupt);
    input.on('keypress', onKey);
    editor.once('close', () => {
      signal.removeEventListener('abort', stop);
      input.removeListener('keypress', onKey);
      input.pause();
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
  });
}
