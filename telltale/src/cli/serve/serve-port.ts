import { RuntimeError } from '../../kernel/runtime-error.ts';

export const DEFAULT_PORT = 4800;
/** Ports that are tried behind the one that is taken. */
const MORE_PORTS = 9;

/** On that port, or on one of the next ones where it is taken and nobody asked for just this one. */
export async function startOn<Started>(
  port: number,
  mayMove: boolean,
  start: (port: number) => Promise<Started>,
): Promise<Started> {
  for (let tried = port; ; tried++)
    try {
      return await start(tried);
    } catch (thrown) {
      const isTaken =
        thrown instanceof RuntimeError &&
        thrown.code === 'cannot_listen' &&
        (thrown.cause as NodeJS.ErrnoException | undefined)?.code === 'EADDRINUSE';
      if (!isTaken || !mayMove || tried >= port + MORE_PORTS) throw thrown;
    }
}
