import { createContext } from 'react';

/** Whether the user has left the page that the console opened with. */
export const ArrivalContext = createContext<{ readonly current: boolean }>({ current: false });
