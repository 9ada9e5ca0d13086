package io.kagami.protocol;

/**
 * One row of the API table: what this broker speaks. ApiVersions is derived from the table, and nothing else lists versions.
 *
 * @param key api key
 * @param name as Kafka's ApiKeys spells it, or ours for private keys
 * @param min lowest version we can parse
 * @param max highest version we can parse
 * @param advertisedMin lowest version that ApiVersions shows (Produce shows 0, or librdkafka stops compressing)
 * @param visibility who sees it in ApiVersions
 */
public record Api(short key, String name, short min, short max, short advertisedMin, Visibility visibility) {
    /** Who sees a row in an ApiVersions answer. */
    public enum Visibility {
        /** Every client. */
        PUBLIC,
        /** Clients whose ClientSoftwareName is {@code kagami}. */
        KAGAMI
    }
}
