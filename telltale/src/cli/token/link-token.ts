import { RuntimeError } from '../../kernel/runtime-error.ts';
import type { CommandContext } from '../command.ts';
import { type DaemonFile, readDaemonFiles } from '../daemon-files.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { jsonText } from '../view/json-line.ts';

/** `telltale token link`: the links of the daemons of this user that run, the newest first. */
export async function printLinks(
  { json }: { readonly json?: true },
  { io }: CommandContext,
): Promise<ExitCode> {
  const daemons = await readDaemonFiles(io);
  if (daemons.length === 0) throw noDaemon();
  await io.stdout.write(
    json === true
      ? jsonText(
          daemons.map((daemon) => ({ ...daemon, link: linkOf(daemon) })),
          2,
        )
      : daemons.map((daemon) => `${linkOf(daemon)}\n`).join(''),
  );
  return EXIT.ok;
}

/** The console's address with the token. An MCP server has no page, and ignores what stands behind `#`. */
const linkOf = ({ url, token }: DaemonFile): string =>
  `${url}${new URL(url).pathname === '/' ? '/' : ''}#token=${token}`;

const noDaemon = () =>
  new RuntimeError('no_daemon', 'No server of this user is running on this machine.', {
    hint: 'Start one: telltale dev, or telltale serve',
  });
