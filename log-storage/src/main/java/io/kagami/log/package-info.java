/** One partition is one directory of segments: append, read on an immutable view, truncate, recover. */
package io.kagami.log;
