import type { Check, Finding } from './check.ts';
import { mayWrite } from './check-store.ts';

const NARROW = 60;

/** The terminal and the folder that commands are typed in. */
export const checkSurroundings: Check = async ({ io }) => {
  const { stdout, stdin, cwd, env } = io;
  const findings: Finding[] = [];
  if (!stdout.isTerminal)
    findings.push({ name: 'Terminal', status: 'ok', detail: 'none: plain lines, no colors, no questions' });
  else {
    const columns = stdout.columns ?? 0;
    const parts = [
      `${columns} × ${stdout.rows ?? 0}`,
      stdout.colour ? 'colors' : 'no colors',
      stdin.isTerminal ? 'can be asked' : 'cannot be asked',
      ...(isUtf8(env) ? [] : ['not known to show UTF-8']),
    ];
    const detail = parts.join(', ');
    findings.push(
      columns > 0 && columns < NARROW
        ? { name: 'Terminal', status: 'warn', detail, fix: `Make it ${NARROW} columns wide or more.` }
        : { name: 'Terminal', status: 'ok', detail },
    );
  }
  findings.push(
    mayWrite(cwd)
      ? { name: 'Folder', status: 'ok', detail: `${cwd} can be read and written` }
      : {
          name: 'Folder',
          status: 'warn',
          detail: `${cwd} cannot be written: agents cannot change files here`,
          fix: `Allow it: chmod u+w ${JSON.stringify(cwd)}`,
        },
  );
  return findings;
};

const isUtf8 = (env: Readonly<Record<string, string | undefined>>): boolean =>
  /utf-?8/i.test(env.LC_ALL || env.LC_CTYPE || env.LANG || '') || env.WT_SESSION !== undefined;
