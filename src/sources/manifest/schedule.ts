// Checks of the times at which a manifest runs.

import { CronExpressionParser } from 'cron-parser';
import { sayingOf } from '../../model/errors.ts';

/** What is wrong with a cron expression of 5 fields (or 6, seconds first); null when it is sound and has a next time. */
export const cronFault = (expression: string): string | null => {
  const fields = expression.trim().split(/\s+/).length;
  if (fields !== 5 && fields !== 6)
    return `must have 5 fields (minute hour day month weekday), or 6 with seconds first; this has ${fields}`;
  try {
    CronExpressionParser.parse(expression, { tz: 'UTC' }).next();
    return null;
  } catch (error) {
    return `is not a cron expression: ${sayingOf(error)}`;
  }
};

/** What is wrong with the name of a time zone; null when the runtime knows it. */
export const timezoneFault = (name: string): string | null => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return null;
  } catch {
    return 'is no known time zone; write an IANA name such as `Europe/Berlin` or `UTC`';
  }
};
