import { usage } from './usage.ts';
import { wholeNumber } from './whole-number.ts';

const MAX_PORT = 65_535;

/** The port that an option says; 0 is a free one. */
export function portOption(option: string, text: string): number {
  const port = wholeNumber(option, text, 0);
  if (port <= MAX_PORT) return port;
  throw usage(`${option} '${text}' is no port.`, `Ports go up to ${MAX_PORT}.`);
}
