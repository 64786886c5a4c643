import { RuntimeError } from '../../kernel/runtime-error.ts';

export const eventUnknown = (session: string, seq: number, head: number) =>
  new RuntimeError('event_unknown', `${session} has no event ${seq}: its last one is ${head}.`, {
    hint: `Look for the place: telltale logs ${session}`,
  });
