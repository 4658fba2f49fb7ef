import { CronExpressionParser } from 'cron-parser'
import { DateTime, Duration, IANAZone } from 'luxon'
import { defineSkill } from '../../kernel/skill.ts'

const units = ['years', 'quarters', 'months', 'weeks', 'days', 'hours', 'minutes', 'seconds', 'milliseconds'] as const

const time = {
  type: 'string', required: true, minLength: 1, maxLength: 200,
  description: 'The time: ISO 8601 (2026-03-29T12:00, 2026-W13, …), RFC 2822, an HTTP date, SQL, Unix seconds or milliseconds, or "now"'
} as const
const zone = {
  type: 'string',
  description: 'Time zone of a time that names none: an IANA name such as Europe/Berlin, UTC, or an offset such as +02:00',
  default: 'UTC',
  minLength: 1,
  maxLength: 100
} as const
const format = {
  type: 'string',
  description: 'How a text of another form is written, in tokens of Luxon (Unicode-like): dd.MM.yyyy HH:mm',
  maxLength: 100
} as const

export default defineSkill({
  tools: {
    now: {
      description: 'Tell the current date and time, today and now, in one or several time zones, with weekday, week of the year and Unix time',
      annotations: { read_only: true },
      parameters: { zones: {
        type: 'array',
        description: 'Time zones: IANA names such as Asia/Tokyo, UTC, or offsets',
        items: { type: 'string', minLength: 1, maxLength: 100 },
        minItems: 1,
        maxItems: 50,
        default: ['UTC']
      } },
      run ({ zones }) {
        const now = DateTime.utc()
        return zones.map(zone => describe(now.setZone(known(zone))))
      }
    },

    parse: {
      description: 'Read a date or time from a text or a Unix timestamp and tell its ISO 8601 form, weekday, week and day of the year, Unix time and UTC offset',
      annotations: { read_only: true },
      parameters: { time, zone, format },
      run: ({ time, zone, format }) => describe(read(time, zone, format))
    },

    format: {
      description: 'Format a date or time: by tokens such as dd.MM.yyyy HH:mm, or as people of a language write it',
      annotations: { read_only: true },
      parameters: {
        time,
        zone,
        format: { ...format, description: 'Tokens of Luxon (Unicode-like), such as cccc, d LLLL yyyy; or RFC2822, HTTP, ISO, SQL; long local form where absent' },
        locale: {
          type: 'string',
          description: 'Language of names and forms, as a BCP 47 tag such as de or en-GB',
          default: 'en',
          pattern: '^[A-Za-z0-9-]{2,35}$'
        }
      },
      run ({ time, zone, format, locale }) {
        const moment = within(() => read(time, zone).setLocale(locale), 'the locale')
        switch (format) {
          case undefined: return moment.toLocaleString(DateTime.DATETIME_FULL)
          case 'RFC2822': return moment.toRFC2822()
          case 'HTTP': return moment.toHTTP()
          case 'ISO': return moment.toISO()
          case 'SQL': return moment.toSQL()
          default: return moment.toFormat(format)
        }
      }
    },

    convert: {
      description: 'Convert a date and time from one time zone to others, such as that of another city',
      annotations: { read_only: true },
      parameters: {
        time,
        from: { ...zone, description: `${zone.description}. One in the time itself comes first` },
        to: {
          type: 'array',
          description: 'Time zones wanted',
          required: true,
          items: { type: 'string', minLength: 1, maxLength: 100 },
          minItems: 1,
          maxItems: 50
        }
      },
      run ({ time, from, to }) {
        const moment = read(time, from)
        return to.map(zone => describe(moment.setZone(known(zone))))
      }
    },

    add: {
      description: 'Add a duration to a date or time, or subtract it: the date some days, weeks or months from now or before; months and days by the calendar, hours and below by the clock',
      annotations: { read_only: true },
      parameters: {
        time,
        zone,
        duration: {
          type: 'string',
          description: 'The duration in ISO 8601, such as P1M, P2W, PT36H or -P1Y2M',
          required: true,
          minLength: 2,
          maxLength: 100
        }
      },
      run ({ time, zone, duration }) {
        const added = Duration.fromISO(duration)
        if (!added.isValid) throw new Error(`"${duration}" is no ISO 8601 duration, such as P1M or PT36H`)
        return describe(valid(read(time, zone).plus(added), 'the result'))
      }
    },

    difference: {
      description: 'Tell how long it is between two dates or times, such as an age or the days until a date: in years, months, days, hours and so on, and in all as seconds',
      annotations: { read_only: true },
      parameters: {
        from: { ...time, description: `${time.description}. The earlier one, for a result that is not negative` },
        to: { ...time, description: 'The other time, in the same forms' },
        zone,
        units: {
          type: 'array',
          description: 'Units to tell it in, from years to milliseconds',
          items: { type: 'string', enum: units },
          minItems: 1,
          maxItems: 9,
          uniqueItems: true,
          default: ['years', 'months', 'days', 'hours', 'minutes', 'seconds']
        }
      },
      run ({ from, to, zone, units: wanted }) {
        const [start, end] = [read(from, zone), read(to, zone)]
        const sorted = units.filter(unit => wanted.includes(unit))
        const duration = end.diff(start, sorted)
        return {
          duration: duration.toObject(),
          iso: duration.toISO(),
          seconds: (end.toMillis() - start.toMillis()) / 1000
        }
      }
    },

    cron: {
      description: 'Tell the next dates of a cron expression (schedule), such as 30 9 * * 1-5, in a time zone',
      annotations: { read_only: true },
      parameters: {
        expression: {
          type: 'string',
          description: 'Five fields (minute, hour, day of month, month, day of week), or six with seconds first, or @daily and the like',
          required: true,
          minLength: 1,
          maxLength: 200
        },
        zone: { ...zone, description: 'Time zone in which the schedule runs: an IANA name such as Europe/Berlin, or UTC' },
        from: {
          ...time, required: false, default: 'now', description: 'Dates after this time; the same forms as elsewhere'
        },
        count: { type: 'integer', description: 'How many dates', default: 5, minimum: 1, maximum: 100 }
      },
      timeout_ms: 5000,
      run ({ expression, zone, from, count }) {
        const start = read(from, zone)
        return within(() => {
          // Fewer would be completed without a word.
          if (!expression.startsWith('@') && ![5, 6].includes(expression.trim().split(/\s+/).length)) {
            throw new Error('it needs five fields, or six with seconds first')
          }
          const schedule = CronExpressionParser.parse(expression, { tz: known(zone), currentDate: start.toJSDate() })
          return Array.from(
            { length: count },
            () => DateTime.fromMillis(schedule.next().getTime()).setZone(known(zone)).toISO()
          )
        }, `the expression "${expression}"`)
      }
    }
  }
})

/** @throws Error saying that a zone is none */
function known (zone: string): string {
  const name = /^[+-]\d{1,2}(?::?\d{2})?$/.test(zone) ? `UTC${zone}` : zone
  if (!/^UTC[+-]/.test(name) && !IANAZone.isValidZone(name)) {
    throw new Error(`"${zone}" is no time zone; use an IANA name such as Europe/Berlin, UTC, or an offset such as +02:00`)
  }
  if (!DateTime.utc().setZone(name).isValid) throw new Error(`"${zone}" is no time zone`)
  return name
}

/** The forms that are tried, in this order. Numbers are Unix time: seconds up to eleven digits, milliseconds above. */
function read (text: string, zoneName: string, format?: string): DateTime {
  const zone = known(zoneName)
  const options = { zone, setZone: true }
  const trimmed = text.trim()
  // Of a local time that is there twice, Luxon takes now one, now the other.
  const first = (moment: DateTime): DateTime => moment.getPossibleOffsets()[0] ?? moment
  if (format !== undefined) return first(valid(DateTime.fromFormat(trimmed, format, options), `"${text}"`))
  if (trimmed === 'now') return DateTime.utc().setZone(zone)
  if (/^-?\d{5,15}(?:\.\d+)?$/.test(trimmed) && !/^\d{8}$/.test(trimmed)) {
    const number = Number(trimmed)
    return valid(
      DateTime.fromMillis(Math.abs(number) < 1e11 ? Math.round(number * 1000) : number, { zone }),
      `"${text}"`
    )
  }
  const forms = [DateTime.fromISO, DateTime.fromRFC2822, DateTime.fromHTTP, DateTime.fromSQL]
  const found = forms.map(form => form(trimmed, options)).find(moment => moment.isValid)
  if (found !== undefined) return first(found)
  const { invalidReason, invalidExplanation } = DateTime.fromISO(trimmed, options)
  const why = invalidReason === 'unparsable' ? '; `format` can say how it is written' : `: ${invalidExplanation}`
  throw new Error(`"${text}" is no date or time${why}`)
}

function valid (moment: DateTime, what: string): DateTime {
  if (!moment.isValid) {
    throw new Error(`${what} is no date or time: ${moment.invalidExplanation ?? moment.invalidReason}`)
  }
  return moment
}

function describe (moment: DateTime): object {
  return {
    iso: moment.toISO(),
    zone: moment.zoneName,
    offset: moment.toFormat('ZZ'),
    weekday: moment.setLocale('en').toFormat('cccc'),
    week: moment.toFormat('kkkk-\'W\'WW'),
    day_of_year: moment.ordinal,
    unix: Math.floor(moment.toMillis() / 1000),
    unix_ms: moment.toMillis(),
    daylight_saving: moment.isInDST
  }
}

/** Says what a failure is about. */
function within<T> (work: () => T, what: string): T {
  try {
    return work()
  } catch (error) {
    throw new Error(`${what} can't be used: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error
    })
  }
}
