import type { Db } from 'pg-boss';
import type { SharedDatabase } from '../../../store/shared-store.ts';

/** The store's own connections, as pg-boss wants them. `heard` is told the queue that has something new, or none: any. */
export const bossDatabase = (database: SharedDatabase, heard: (queue?: string) => void): Db => ({
  async executeSql(text, values) {
    // Several statements in one text go without values, over the simple protocol.
    const { rows } = await database.execute(text, values?.length === 0 ? undefined : values);
    return { rows: [...rows] };
  },
  listen: (channel, onNotification, onReconnect) =>
    database.listen(
      channel,
      (payload) => {
        onNotification(payload);
        heard(payload);
      },
      () => {
        onReconnect();
        heard();
      },
    ),
});
