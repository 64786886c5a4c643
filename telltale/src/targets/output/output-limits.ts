import { RuntimeError } from '../../kernel/runtime-error.ts';

/** What a result may have where the tool sets no `output.max_bytes`. */
export const DEFAULT_OUTPUT_BYTES = 1024 * 1024;

/** `what` names the tool: `tool "search"`. */
export const outputTooLarge = (what: string, maxBytes: number) =>
  new RuntimeError('output_too_large', `The result of ${what} has more than ${maxBytes} bytes.`, {
    hint: 'Ask for less, or raise "output: { max_bytes }" of the tool.',
  });
