import { usage } from './usage.ts';

const MAX_PORT = 65_535;

/** The port that an option says; 0 is a free one. */
export function portOption(option: string, text: string): number {
  if (/^\d+$/.test(text) && Number(text) <= MAX_PORT) return Number(text);
  throw usage(
    `${option} '${text}' is not a port.`,
    `Write a number up to ${MAX_PORT}, or 0 for any free port.`,
  );
}
