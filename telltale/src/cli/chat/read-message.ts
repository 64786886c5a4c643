import { createInterface } from 'node:readline';

export interface ReadMessage {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly prompt: string;
  /** The text that was typed before the prompt appeared. */
  readonly draft?: string;
  /** Earlier messages, newest first. The new message is added. */
  readonly history: string[];
  readonly signal: AbortSignal;
  /** Called at Ctrl-C. The unfinished line is dropped. */
  readonly onInterrupt: () => void;
}

const MAX_HISTORY = 200;

/**
 * Reads a message after a prompt, with line editing. The terminal is in raw mode only during the call, so afterwards
 * Ctrl-C is a signal again. Lines that arrive together were pasted: they are one message.
 */
export function readMessage(options: ReadMessage): Promise<string | undefined> {
  const { input, output, prompt, draft = '', history, signal, onInterrupt } = options;
  if (signal.aborted) return Promise.resolve(undefined);
  return new Promise((resolve) => {
    const editor = createInterface({
      input,
      output,
      prompt,
      history: [...history],
      historySize: MAX_HISTORY,
      removeHistoryDuplicates: true,
      terminal: output.isTTY === true,
    });
    const pasted: string[] = [];
    let isOver = false;
    /** Whether the prompt is shown on the current line. */
    let isAsked = false;
    const ask = () => {
      if (isOver) return;
      isAsked = true;
      editor.prompt();
    };
    const stop = () => editor.close();
    editor.on('line', (line) => {
      pasted.push(line);
      if (pasted.length > 1) return;
      setImmediate(() => {
        if (editor.line !== '') pasted.push(editor.line);
        editor.close();
      });
    });
    editor.on('SIGINT', () => {
      for (const name of ['e', 'u']) editor.write(null, { ctrl: true, name }); // Moves to the end of the line and deletes it.
      output.write('\n');
      isAsked = false;
      onInterrupt();
      setImmediate(ask);
    });
    editor.once('close', () => {
      isOver = true;
      signal.removeEventListener('abort', stop);
      input.pause();
      if (pasted.length === 0) {
        if (isAsked) output.write('\n');
        resolve(undefined);
        return;
      }
      const text = pasted.join('\n');
      if (text.trim() !== '' && history[0] !== text) history.unshift(text);
      history.length = Math.min(history.length, MAX_HISTORY);
      resolve(text);
    });
    signal.addEventListener('abort', stop, { once: true });
    ask();
    if (draft !== '') editor.write(draft);
  });
}
