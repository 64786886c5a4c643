import { createContext } from 'react';

/** Whether somebody has gone from the page that the console was opened with to another. */
export const ArrivalContext = createContext<{ readonly current: boolean }>({ current: false });
