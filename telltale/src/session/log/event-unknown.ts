import { RuntimeError } from '../../kernel/runtime-error.ts';

export const eventUnknown = (session: string, seq: number, head: number) =>
  new RuntimeError('event_unknown', `${session} has no event ${seq}. Its last event is ${head}.`, {
    hint: `List its events: telltale logs ${session}`,
  });
