/** A fenced `console` block: the command after `$ npm start --` (without one: the demo) and its output. */
export interface ConsoleBlock {
  readonly argv: readonly string[];
  readonly output: string;
  /** Where the output stands in the page. */
  readonly from: number;
  readonly to: number;
}

const BLOCK = /^(`{3,})console\n\$ npm start(?: -- (.+))?\n([\s\S]*?)^\1$/gm;

export function consoleBlocks(page: string): readonly ConsoleBlock[] {
  return [...page.matchAll(BLOCK)].map((match) => {
    const [whole, fence = '', command = 'demo', output = ''] = match;
    const to = match.index + whole.length - fence.length;
    return { argv: command.trim().split(' '), output, from: to - output.length, to };
  });
}
